import type { IDatabasePool } from '@ambit/transaction';
import type { ILogger } from './logging/logger.js';

/** Also for want of a free connection: another instance may have one. */
const NO_ANSWER = 'no answer from the database';

export type Readiness = 'ready' | 'starting' | 'draining' | typeof NO_ANSWER;

const PATIENCE_MS = 2000;

interface Finding {
  readonly readiness: Readiness;
  readonly err?: unknown;
}

/** Application-wide: whether a balancer should send requests here. */
export class Health {
  #phase: 'starting' | 'ready' | 'draining' = 'starting';
  #found: Readiness = 'ready';

  constructor(
    private readonly pool: Pick<IDatabasePool, 'query'>,
    private readonly logger: Pick<ILogger, 'error' | 'info'>,
  ) {}

  started(): void {
    this.#phase = 'ready';
  }

  draining(): void {
    this.#phase = 'draining';
  }

  async readiness(): Promise<Readiness> {
    if (this.#phase !== 'ready') return this.#phase;
    const finding = await this.#askDatabase();
    this.#tellNews(finding);
    return finding.readiness;
  }

  async #askDatabase(): Promise<Finding> {
    let giveUp: NodeJS.Timeout | undefined;
    const patience = new Promise<Finding>((resolve) => {
      giveUp = setTimeout(() => {
        resolve({ readiness: NO_ANSWER, err: new Error(`It did not answer within ${PATIENCE_MS} ms`) });
      }, PATIENCE_MS);
    });
    try {
      const answered = this.pool.query('SELECT 1 AS one').then(
        (): Finding => ({ readiness: 'ready' }),
        (err: unknown): Finding => ({ readiness: NO_ANSWER, err }),
      );
      return await Promise.race([answered, patience]);
    } finally {
      clearTimeout(giveUp);
    }
  }

  /** Balancers ask once a second; only a change is worth a line in the log. */
  #tellNews({ readiness, err }: Finding): void {
    if (readiness === this.#found) return;
    this.#found = readiness;
    if (readiness === 'ready') this.logger.info({ msg: 'ready again' });
    else this.logger.error({ msg: `not ready: ${readiness}`, err });
  }
}
