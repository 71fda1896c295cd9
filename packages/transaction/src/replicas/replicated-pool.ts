import type { ReplicatedSettings } from './options.js';
import { Replicas } from './replicas.js';
import { ReplicaSession, type Token } from './session.js';

/**
 * The pool that `createReplicatedPool()` makes. It is a session of its own: all that one process writes through it, it also
 * reads. A session for each request, job or user lets more reads go to the replicas.
 */
export class ReplicatedPool extends ReplicaSession implements AsyncDisposable {
  readonly #replicas: Replicas;
  #closing: Promise<void> | undefined = undefined;

  /** Call `createReplicatedPool()` instead. */
  constructor(settings: ReplicatedSettings) {
    const replicas = new Replicas(settings);
    super(replicas);
    this.#replicas = replicas;
  }

  /**
   * A view of this pool that reads what was written through it, and before in the session that the token is of.
   *
   * @param token the `token` of an earlier session, as the client sent it; anything else than a token is ignored
   */
  session(token?: Token): ReplicaSession {
    return new ReplicaSession(this.#replicas, token);
  }

  /** Closes the pools of all servers. */
  override close(): Promise<void> {
    this.#closing ??= this.#replicas.close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
