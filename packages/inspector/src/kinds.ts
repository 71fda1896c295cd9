import type { StepKind } from './wire.js';

/** The method of work outside of requests: jobs, timers, deliveries. */
export const WORK = 'work';
export const isWork = ({ method }: { readonly method: string }): boolean => method === WORK;

/** The steps that are bad news. */
export const BAD: ReadonlySet<StepKind> = new Set([
  'rollback',
  'aborted',
  'no connection',
  'failed',
  'threw',
  'callback failed',
  'commit unknown',
  'finding',
]);
