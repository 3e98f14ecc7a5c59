"""What goes wrong and can be said in a sentence."""


class LabError(Exception):
    """The laboratory cannot go on; the message is for the person who started it."""


class StepFailed(Exception):
    """One trial could not be measured; the others go on."""


class Stopped(BaseException):
    """Somebody asked to stop, by a signal."""

    def __init__(self, signal_number: int):
        super().__init__(signal_number)
        self.signal_number = signal_number
