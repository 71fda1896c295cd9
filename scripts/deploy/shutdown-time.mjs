/** What the service takes beyond SHUTDOWN_TIMEOUT_MS to dispose everything. */
export const DISPOSE_SECONDS = 5;
