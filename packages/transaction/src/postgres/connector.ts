import type { ClientConfig } from 'pg';
import { TransactionError } from '../errors.js';
import { isPermanent } from '../sql-state.js';
import { driverConfigs, type TargetSessionAttrs } from './options.js';
import type { PostgresDriver, Session } from './driver.js';
import { noServer, readOnlyRefusal } from './language.js';

/** For how long a host that failed is tried last. */
const AVOID_MS = 5000;

/** Makes connections: to the first host whose server is what the caller needs. */
export class Connector {
  readonly #owner: PostgresDriver;
  /** One for each host. */
  readonly #configs: readonly ClientConfig[];
  readonly #avoidUntil = new Map<ClientConfig, number>();
  readonly #connecting = new Set<Session>();
  #closed = false;

  constructor(owner: PostgresDriver) {
    this.#owner = owner;
    this.#configs = driverConfigs(owner.settings);
  }

  /** For prefer-standby any host will do where no standby was found. A host that lacks the database or the user stops the search. */
  async connect(forReading: boolean): Promise<Session> {
    const { target, clock } = this.#owner.settings;
    const rounds = target === 'prefer-standby' ? (['standby', 'any'] as const) : [target];
    const errors: unknown[] = [];
    for (const wanted of rounds) {
      for (const config of this.#inOrder()) {
        try {
          return await this.#connectTo(config, wanted, forReading);
        } catch (error) {
          if (this.#closed || isPermanent(error)) throw error;
          this.#avoidUntil.set(config, clock.now() + AVOID_MS);
          errors.push(error);
        }
      }
    }
    throw noServer(errors);
  }

  /** Makes no more connections, and cancels those that are being made. */
  close(): void {
    this.#closed = true;
    for (const session of this.#connecting) session.cut();
  }

  #inOrder(): readonly ClientConfig[] {
    if (this.#configs.length === 1) return this.#configs;
    const now = this.#owner.settings.clock.now();
    const failed = (config: ClientConfig): number => ((this.#avoidUntil.get(config) ?? 0) > now ? 1 : 0);
    return this.#configs.toSorted((one, other) => failed(one) - failed(other));
  }

  async #connectTo(
    config: ClientConfig,
    target: TargetSessionAttrs | undefined,
    forReading: boolean,
  ): Promise<Session> {
    const { connectTimeoutMs } = this.#owner.settings;
    const session = this.#owner.createSession(config);
    this.#connecting.add(session);
    try {
      await session.client.connect();
      if (!session.fits(target, forReading)) await session.askRole(connectTimeoutMs);
      if (this.#closed) throw new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool was closed meanwhile');
      if (!session.fits(target, forReading)) throw unfit(target);
      return session;
    } catch (error) {
      this.#owner.onUnwanted(session);
      throw error;
    } finally {
      this.#connecting.delete(session);
    }
  }
}

function unfit(target: TargetSessionAttrs | undefined): TransactionError {
  if (target === undefined || target === 'read-write') return readOnlyRefusal();
  return new TransactionError(
    'AMBIT_TX_ACQUIRE_FAILED',
    `PostgreSQL is not what target_session_attrs asks for, ${target}`,
  );
}
