/** Set once, by the entry point for unit tests. */
let areRunning = false;

export function declareUnitTests(): void {
  areRunning = true;
}

/** True where a decorated method without a scope is called as it is. */
export function isUnitTest(): boolean {
  return areRunning;
}
