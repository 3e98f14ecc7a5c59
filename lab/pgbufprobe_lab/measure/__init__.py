"""Measuring: runs the scenarios and records their samples. Imports neither the analysis nor the report."""
