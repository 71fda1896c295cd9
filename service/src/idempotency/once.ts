import { createHash } from 'node:crypto';

/** A piece of work that a client wants done once, however often it asks. */
export interface Once {
  readonly key: string;
  /** Tells the same work asked for again from other work under the same key. */
  readonly fingerprint: string;
}

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly replayed: boolean;
}

/** `work` names the endpoint; `input` is what the work depends on, so that white space and unknown properties make no difference. */
export function once(key: string, work: string, input: unknown): Once {
  const fingerprint = createHash('sha256')
    .update(`${work}\n${JSON.stringify(input)}`)
    .digest('base64url');
  return { key, fingerprint };
}
