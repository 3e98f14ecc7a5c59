"""Errors whose message is complete without a traceback."""


class LabError(Exception):
    """The run cannot continue; the message is for the user."""


class StepFailed(Exception):
    """One step could not be measured; the others continue."""


class Stopped(BaseException):
    """The run was interrupted by a signal."""

    def __init__(self, signal_number: int):
        super().__init__(signal_number)
        self.signal_number = signal_number
