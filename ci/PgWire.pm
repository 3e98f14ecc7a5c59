# PgWire: a session of its own with a PostgreSQL server, for tests that must know the SQLSTATE of
# everything that happens to it, also of the end of the connection. Perl brings no client by itself,
# and psql tells none when it loses its server.
#
# Unix sockets, trust authentication and simple queries only; values are text.

package PgWire;

use strict;
use warnings;

use IO::Select;
use IO::Socket::UNIX;
use Socket qw(SOCK_STREAM);
use Time::HiRes qw(time);

# What a connection that ends without a word is called, and one that says nothing for so long that
# something must have gone wrong.
use constant CONNECTION_FAILURE => '08006';
use constant CANNOT_CONNECT => '08001';
use constant SILENT => 'silent';

# A session with these settings, or undef and the SQLSTATE and message of the refusal.
sub connect
{
	my ($class, %at) = @_;
	my $socket = IO::Socket::UNIX->new(
		Type => SOCK_STREAM,
		Peer => "$at{host}/.s.PGSQL.$at{port}")
	  or return (undef, CANNOT_CONNECT, "$!");
	my $self = bless {
		socket => $socket,
		select => IO::Select->new($socket),
		buffer => '',
		patience => $at{patience} // 120
	}, $class;

	my $parameters = join '', map { "$_\0" } user => $at{user},
	  database => $at{database}, %{ $at{settings} // {} }, '';
	$self->_send(pack('NN', 8 + length $parameters, 196608) . $parameters);
	my $answer = $self->_await_ready;
	return $answer->{code} ? (undef, $answer->{code}, $answer->{message}) : ($self);
}

sub pid { return $_[0]{pid} }
sub is_open { return !$_[0]{closed} }

# All rows, as arrays; or the code and message of the error, and when it came.
sub query
{
	my ($self, $sql) = @_;

	$self->_send('Q' . pack('N', 5 + length $sql) . "$sql\0");
	return $self->_await_ready;
}

sub quit
{
	my ($self) = @_;

	$self->_send('X' . pack('N', 4));
	$self->_close;
}

sub _close
{
	my ($self) = @_;

	close $self->{socket} unless $self->{closed};
	$self->{closed} = 1;
}

# The other end may be gone, which reading will find out, after its last words.
sub _send
{
	my ($self, $bytes) = @_;

	local $SIG{PIPE} = 'IGNORE';
	while (length $bytes)
	{
		my $sent = syswrite $self->{socket}, $bytes;
		return unless defined $sent;
		substr $bytes, 0, $sent, '';
	}
}

sub _take
{
	my ($self, $bytes) = @_;

	while (length $self->{buffer} < $bytes)
	{
		$self->{select}->can_read($self->{patience}) or die SILENT . "\n";
		sysread $self->{socket}, $self->{buffer}, 65536, length $self->{buffer}
		  or die CONNECTION_FAILURE . "\n";
	}
	return substr $self->{buffer}, 0, $bytes, '';
}

sub _message
{
	my ($self) = @_;
	my ($type, $length) = unpack 'aN', $self->_take(5);

	return ($type, $self->_take($length - 4));
}

sub _row
{
	my ($body) = @_;
	my $at = 2;

	return [
		map {
			my $length = unpack 'l>', substr $body, $at, 4;
			$at += 4;
			my $value = $length < 0 ? undef : substr $body, $at, $length;
			$at += $length if $length > 0;
			$value
		} 1 .. unpack 'n', $body ];
}

# Reads up to the point where the server waits for the next query, or to the end of the connection.
sub _await_ready
{
	my ($self) = @_;
	my %answer = (rows => [], code => undef, message => '');
	my $last_words;

	eval {
		while (1)
		{
			my ($type, $body) = $self->_message;

			last if $type eq 'Z';
			push @{ $answer{rows} }, _row($body) if $type eq 'D';
			$self->{pid} = unpack 'N', $body if $type eq 'K';
			next unless $type =~ /[EN]/;
			my %fields = map { substr($_, 0, 1) => substr($_, 1) } grep { length } split /\0/, $body;
			# A server that crashes takes leave with a warning.
			$last_words = \%fields if $type eq 'E' || $fields{C} =~ /^57P/;
			@answer{ 'code', 'message', 'failed_at' } = (@fields{ 'C', 'M' }, time) if $type eq 'E';
		}
		1;
	} or do
	{
		chomp(my $code = $@);
		$answer{code} = $code;
		$answer{message} = $code eq SILENT ? 'no answer' : 'the connection was closed';
		@answer{ 'code', 'message' } = @$last_words{ 'C', 'M' } if $last_words && $code ne SILENT;
		$self->_close;
	};
	return \%answer;
}

1;
