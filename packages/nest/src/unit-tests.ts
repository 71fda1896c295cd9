/** Set once, by the entry point for unit tests. */
let areRunning = false;

export function declareUnitTests(): void {
  areRunning = true;
}

/** Whether a decorated method that is called outside of a scope is called as it is. */
export function isUnitTest(): boolean {
  return areRunning;
}
