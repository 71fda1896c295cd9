import type { Express } from 'express';
import { expressWith } from '../adapters/express.js';
import type { Stage } from '@ambit/testing/hosts';

/** Serves routes that say what only Express can say. */
export function serveOnExpress(stage: Stage, mount: (app: Express) => void): Promise<void> {
  return stage.serve([], { host: expressWith(mount) });
}
