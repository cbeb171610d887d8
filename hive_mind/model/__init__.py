"""Every value that travels: immutable, without behaviour beyond what the value itself knows.

`ids` names things by what they are; `content` is what goes in; `fact` is what is kept; `query` is what is asked and found;
`scores` are the raw figures behind a ranking; `answer` is what comes out. Nothing here imports anything above it.
"""
