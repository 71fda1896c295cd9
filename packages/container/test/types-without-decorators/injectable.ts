import { injectable } from '@ambit/container';

declare module '@ambit/container' {
  interface ServiceMap {
    ILogger: { info(line: string): void };
    IPort: number;
  }
}

@injectable('ILogger', 'IPort')
export class Fits {
  readonly port: number;
  constructor(logger: { info(line: string): void }, port: number) {
    logger.info('made');
    this.port = port;
  }
}

// error: 'IPort' does not fit parameter 0
@injectable('IPort')
export class Wrong {
  constructor(logger: { info(line: string): void }) {
    logger.info('made');
  }
}

// error: parameter 1 has no key
@injectable('ILogger')
export class TooFew {
  readonly port: number;
  constructor(logger: { info(line: string): void }, port: number) {
    logger.info('made');
    this.port = port;
  }
}
