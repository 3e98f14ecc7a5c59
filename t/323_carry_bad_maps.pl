# 10,000 generated maps, each wrong in some way: every one of them is restored by what it says, or refused with an error
# that the reference names. None is an internal error, and the session lives on.

use strict;
use warnings;

use CacheMap;
use File::Spec;
use PageCache;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

srand(20261122);

my $nmaps = 10_000;
my $node = start_server('main', 'shared_buffers = 16MB');
ask($node, one_row_a_page('pages', 60) . one_row_a_page('others', 40) . q{
CREATE EXTENSION pgbufprobe;
CREATE INDEX pages_id ON pages (id);
VACUUM pages;
CREATE VIEW pages_view AS SELECT * FROM pages;
CREATE TABLE parted (id integer) PARTITION BY RANGE (id);
CREATE TABLE empty ();
CREATE TABLE generated (id serial, kind text COLLATE "C", relation text, fork text, map bytea);
CREATE TABLE outcomes (kind text COLLATE "C", outcome text COLLATE "C")});

my $session = $node->background_psql('postgres');

sub header_of
{
	my ($relation) = @_;
	return read_map($session->query_safe("SELECT encode(map, 'hex') FROM pgbufprobe_cache_map('$relation', 'main')"));
}

my $pages = header_of('pages');
my %other = map { $_ => header_of($_) } 'others', 'pages_id', 'pg_class', 'pg_database';

# Up to 100 blocks in any state.
sub random_runs { return map { [ 1 + int rand 12, int rand $map_states ] } 1 .. 1 + int rand 8 }

sub whole { return write_map({ %$pages, @_ }, random_runs()) }

# Without its checksum.
sub unsigned { return substr(whole(), 0, -4) }

sub flipped
{
	my ($bytes, $flips) = @_;
	my %bits;

	$bits{ int rand 8 * length $bytes } = 1 while keys %bits < $flips;
	vec($bytes, $_, 1) ^= 1 for keys %bits;
	return $bytes;
}

sub noise { return join '', map { chr int rand 256 } 1 .. shift }

my $invalid = '22023 invalid cache map';
my $adds_up = 'adds up';
my @signed = map { "$invalid $_" } (
	'It does not begin as a cache map does.', 'It was written by another version of pgbufprobe.',
	'It was written by a server with another block size.', 'Its runs of blocks do not add up to its number of blocks.');
my @other_forks = ("$invalid It is of a fork that does not exist.",
	map { qq{22023 cache map does not belong to fork "main" It was taken of fork "$_".} } 'fsm', 'vm', 'init');

# How each kind is made, and what must come of it, or may, too. The relation is "pages", and the fork "main", unless it says so.
my %kinds = (
	'whole' => { make => sub { whole() }, expect => [$adds_up] },
	'of a standby or after a rewrite' => { make => sub { whole(nblocks => 1 + int rand 1000) }, expect => [$adds_up] },
	'of another system' => { make => sub { whole(system => 1 + int rand 2**53, relation => $other{others}{relation}) }, expect => [$adds_up] },
	'of another database' => { make => sub { whole(database => 1 + int rand 2**32 - 1, relation => $other{others}{relation}) }, expect => [$adds_up] },
	'of a dropped relation' => { make => sub { whole(relation => 2**32 - 1 - int rand 2**20) }, expect => [$adds_up] },
	'of unknown origin' => { make => sub { whole(relation => 0) }, expect => [$adds_up] },
	'of more blocks than there are' =>
	  { make => sub { write_map($pages, random_runs(), [ 2**32 - 1000, int rand $map_states ]) }, expect => [$adds_up] },
	'of more blocks than there can be' => { make => sub { write_map($pages, random_runs(), [ 2**32, int rand $map_states ]) }, expect => [ $signed[3] ] },
	'cut off' => {
		make => sub { my $map = whole(); substr($map, 0, rand length $map) },
		expect => [ "$invalid It is damaged: its checksum is wrong.", "$invalid It is too short." ] },
	'cut off and signed' =>
	  { make => sub { my $map = unsigned(); with_checksum(substr($map, 0, rand length $map)) }, expect => [ $signed[3], "$invalid It is too short." ] },
	'extended' => { make => sub { whole() . noise(1 + int rand 20) }, expect => ["$invalid It is damaged: its checksum is wrong."] },
	'extended and signed' => { make => sub { with_checksum(unsigned() . noise(1 + int rand 20)) }, expect => [ $signed[3] ] },
	# Up to three bits, which the checksum notices for sure.
	'flipped' => {
		make => sub { flipped(whole(), 1 + int rand 3) },
		expect => [ "$invalid It does not begin as a cache map does.", "$invalid It is damaged: its checksum is wrong." ] },
	'flipped and signed' => { make => sub { with_checksum(flipped(unsigned(), 1 + int rand 3)) }, expect => [ $adds_up, @signed ], may => \@other_forks },
	'runs flipped and signed' => {
		make => sub { my $map = unsigned(); with_checksum(substr($map, 0, 48) . flipped(substr($map, 48), 1)) },
		expect => [ $adds_up, $signed[3] ] },
	'noise' => { make => sub { noise(int rand 200) }, expect => [ $signed[0], "$invalid It is too short." ] },
	'noise as runs' => { make => sub { with_checksum(substr(unsigned(), 0, 48) . noise(int rand 50)) }, expect => [ $signed[3] ] },
	'of another version' => { make => sub { with_checksum(changed(unsigned(), 8, pack 'L<', 2 + int rand 1000)) }, expect => [ $signed[1] ] },
	'of another block size' => { make => sub { with_checksum(changed(unsigned(), 12, pack 'L<', int rand 4096)) }, expect => [ $signed[2] ] },
	'of no fork' => {
		make => sub { with_checksum(changed(unsigned(), 16, pack 'L<', 4 + int rand 1000)) },
		expect => ["$invalid It is of a fork that does not exist."] },
	'of another fork' => {
		make => sub { whole(fork => 1) },
		expect => ['22023 cache map does not belong to fork "main" It was taken of fork "fsm".'] },
	'to another fork' => {
		fork => 'vm', make => sub { whole() },
		expect => ['22023 cache map does not belong to fork "vm" It was taken of fork "main".'] },
	'to no fork' =>
	  { fork => 'init', make => sub { whole() }, expect => ['55000 relation "pages" has no fork "init"'] },
	'of another relation' => {
		make => sub { my @all = values %other; my $one = $all[ rand @all ]; whole(map { $_ => $one->{$_} } 'relation', 'database') },
		expect => [
			map { qq{22023 cache map does not belong to relation "pages" It was taken of relation $_, which still exists.} } 'pg_catalog.pg_class',
			'pg_catalog.pg_database', 'public.others', 'public.pages_id' ] },
	'to an index' => {
		relation => 'pages_id', make => sub { whole() },
		expect => ['22023 cache map does not belong to relation "pages_id" It was taken of relation public.pages, which still exists.'] },
	'to an empty table' => { relation => 'empty', make => sub { whole(relation => 0) }, expect => [$adds_up] },
	'to a view' => {
		relation => 'pages_view', make => sub { whole() },
		expect => ['42809 relation "pages_view" has no storage This operation is not supported for views.'] },
	'to a partitioned table' => {
		relation => 'parted', make => sub { whole() },
		expect => ['42809 relation "parted" has no storage This operation is not supported for partitioned tables.'] },
	'to no relation' => { relation => 'missing', make => sub { whole() }, expect => ['42P01 relation with OID 4000000000 does not exist'] });

my @kinds = sort keys %kinds;
my @lines;
for my $i (0 .. $nmaps - 1)
{
	my $kind = $kinds{ $kinds[ $i % @kinds ] };
	push @lines, join "\t", $kinds[ $i % @kinds ], $kind->{relation} // 'pages', $kind->{fork} // 'main', '\\\\x' . unpack('H*', $kind->{make}->());
}
my $file = File::Spec->rel2abs($node->data_dir) . '/generated.txt';
append_to_file($file, join("\n", @lines) . "\n");
$session->query_safe("COPY generated (kind, relation, fork, map) FROM '$file'");

my $before = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe(q{
DO $$
DECLARE
	g generated;
	outcome text;
	detail text;
BEGIN
	FOR g IN SELECT * FROM generated LOOP
		BEGIN
			SELECT CASE WHEN requested = already_present + read + skipped THEN 'adds up' ELSE 'is wrong' END INTO outcome
			FROM pgbufprobe_cache_restore(coalesce(to_regclass(g.relation)::oid, 4000000000), g.map, g.fork,
				(ARRAY['both', 'shared_buffers', 'os_cache'])[1 + g.id % 3]);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			outcome := trim(concat_ws(' ', SQLSTATE, SQLERRM, detail));
		END;
		INSERT INTO outcomes VALUES (g.kind, outcome);
	END LOOP;
END $$});

is($session->query_safe('SELECT count(*) FROM outcomes'), $nmaps, 'each map was tried');
for my $name (@kinds)
{
	my %may = map { $_ => 1 } @{ $kinds{$name}{may} // [] };
	my @outcomes = split /\n/, $session->query_safe("SELECT DISTINCT outcome FROM outcomes WHERE kind = '$name' ORDER BY 1");
	is_deeply([ grep { !$may{$_} } @outcomes ], [ sort @{ $kinds{$name}{expect} } ], "a map $name");
}
my $reference = slurp_file('docs/reference.md');
my @messages = split /\n/, $session->query_safe(q{SELECT DISTINCT regexp_replace(outcome, '^22023 (invalid cache map )?', '') FROM outcomes WHERE outcome LIKE '22023%'});
is_deeply([ grep { my $words = s/ (?:"|It was taken of).*//r; index($reference, "`$words`") < 0 } @messages ], [], 'the reference names each error');
is($session->query_safe(q{SELECT count(*) FROM outcomes WHERE outcome LIKE 'XX%'}), 0, 'no error is an internal one');
is($session->query_safe('SELECT pg_backend_pid()'), $before, 'the session lives on');
is( $session->query_safe(q{SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'pages'::regclass}),
	0, 'and holds no lock');
is($session->query_safe('SELECT count(*), sum(id) FROM pages'), '60|1770', 'the table has its rows');
$session->quit;

has_no_crash($node);
done_testing();
