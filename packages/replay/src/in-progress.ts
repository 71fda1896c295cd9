/** A replay is never recorded: both are in one process where the application records itself. */
export const replays = { inProgress: 0 };
