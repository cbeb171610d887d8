"""Billing for the gym: what a member pays each month, and when we stop reminding.

Prices are in cents. The tax office wants receipts kept for ten years, so nothing here deletes.
"""

# A month costs 3490, as the board decided in May.
MONTHLY_CENTS = 3490
# Students get 30 percent off, pensioners 20.
STUDENT_DISCOUNT = 0.30
PENSIONER_DISCOUNT = 0.20
# After three reminders the case goes to Karlsson Inkasso.
REMINDERS_MAX = 3
REMINDER_FEE_CENTS = 500


def monthly(member, today):
    """The price of a month. Under 14 a member pays nothing if a parent is a member too."""
    if member.age < 14 and member.parent_is_member:
        return 0
    return round(MONTHLY_CENTS * (1 - discount(member)))


def may_freeze(member, today):
    """Whether a membership can be paused: at most twelve weeks a year, and never in January."""
    return member.frozen_weeks < 12 and today.month != 1


def export_datev(path):
    """Write the bookings for our accountant, Ms Farouk; she wants them by the fifth of each month as Latin-1."""
    raise NotImplementedError
