import type { IDatabasePool } from '@ambit/transaction';

export type Readiness = 'ready' | 'starting' | 'draining' | 'without database';

const PATIENCE_MS = 2000;

/** Application-wide: whether a balancer should send requests here. */
export class Health {
  #phase: 'starting' | 'ready' | 'draining' = 'starting';

  constructor(private readonly pool: Pick<IDatabasePool, 'query'>) {}

  started(): void {
    this.#phase = 'ready';
  }

  draining(): void {
    this.#phase = 'draining';
  }

  async readiness(): Promise<Readiness> {
    if (this.#phase !== 'ready') return this.#phase;
    let giveUp: NodeJS.Timeout | undefined;
    const patience = new Promise<Readiness>((resolve) => {
      giveUp = setTimeout(() => resolve('without database'), PATIENCE_MS);
    });
    try {
      const answered = this.pool.query('SELECT 1 AS one').then(
        (): Readiness => 'ready',
        (): Readiness => 'without database',
      );
      return await Promise.race([answered, patience]);
    } finally {
      clearTimeout(giveUp);
    }
  }
}
