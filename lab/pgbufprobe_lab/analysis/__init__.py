"""Analysis: computes figures and verdicts from samples. Imports neither the measuring nor the report."""
