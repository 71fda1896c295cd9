import { ContainerError } from '../../src/index.js';

/** The coded error that the work throws; anything else it throws goes on. */
export function refusal(work: () => unknown): ContainerError {
  let result: unknown;
  try {
    result = work();
  } catch (error) {
    if (error instanceof ContainerError) return error;
    throw error;
  }
  throw new Error(`not refused; it returned ${String(result)}`);
}
