"""Precision as people say it."""


def within(half_width: float, *, points: bool) -> str:
    """± in points where ratings are 0 or 1, else in their own unit."""
    if not points:
        return f"±{half_width:.3g}"
    return f"±{100 * half_width:.1f} points" if half_width >= 0.001 else f"±{100 * half_width:.2g} points"
