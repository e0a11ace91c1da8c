"""Tables of cases, a file a family; each offers `cases()`."""
