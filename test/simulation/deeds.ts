import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Visit } from './visit.js';
import { ROLLS_BACK } from './moments.js';
import { breaking, ignore, pause, wait } from './work.js';

/** Everything that a handler may do, by name. */
export type Deeds<S> = Readonly<Record<string, (scene: S) => unknown>>;

/** Often what most handlers do, else any of these. */
export function chooseDeed<S>(visit: Visit, deeds: Deeds<S>, usual: string): (scene: S) => unknown {
  const { chance } = visit.run;
  const name = chance.of(0.35) ? usual : chance.pick(Object.keys(deeds));
  visit.note(`means to ${name}`);
  const deed = deeds[name];
  if (deed) return deed;
  visit.broke(`no handler knows how to ${name}`);
  return () => undefined;
}

/** What a handler has on every host over `node:http`. */
export interface NodeScene {
  readonly visit: Visit;
  readonly res: ServerResponse;
}

/** Everything a handler may do with the response of Node when its work is done; those that nobody should are among them. */
export const NODE_DEEDS: Deeds<NodeScene> = {
  end: ({ visit, res }) => {
    res.statusCode = visit.respondsWith(200);
    res.end(visit.mark);
  },
  'respond with what rolls back': ({ visit, res }) => {
    res.statusCode = visit.respondsWith(ROLLS_BACK);
    res.end(visit.mark);
  },
  'write the head first': async ({ visit, res }) => {
    res.writeHead(201, { 'content-type': 'text/plain' });
    await pause(visit);
    visit.respondsWith(201);
    res.end(visit.mark);
  },
  'flush the head first': async ({ visit, res }) => {
    visit.breaksOff = !visit.run.calm;
    res.statusCode = visit.respondsWith(200);
    res.flushHeaders();
    await pause(visit);
    res.end(visit.mark);
  },
  'write in parts': async ({ visit, res }) => {
    visit.breaksOff = !visit.run.calm;
    res.statusCode = visit.respondsWith(200);
    for (const part of visit.parts()) {
      if (!res.write(part)) await new Promise((resolve) => void res.once('drain', resolve));
      await pause(visit);
    }
    res.end();
  },
  stream: ({ visit, res }) => {
    visit.breaksOff = !visit.run.calm;
    res.statusCode = visit.respondsWith(200);
    pipeline(Readable.from(visit.parts()), res, ignore);
  },
  'stream that breaks': ({ visit, res }) => {
    visit.breaksOff = true;
    res.statusCode = visit.respondsWith(200);
    pipeline(Readable.from(breaking(visit)), res, ignore);
  },
  'throw after the head': async ({ visit, res }) => {
    visit.breaksOff = !visit.inTransaction;
    countIfLate(visit);
    res.writeHead(201);
    await pause(visit);
    throw visit.fails();
  },
  throw: ({ visit }) => {
    throw visit.fails();
  },
  'respond with a status there is not': ({ visit, res }) => {
    countIfLate(visit);
    res.statusCode = 1000;
    res.end();
  },
  'wait forever': ({ visit }) => wait(visit),
  'destroy the response': ({ visit, res }) => {
    visit.breaksOff = true;
    res.destroy();
  },
};

/** What only a handler with a transaction can do. */
export const NODE_ORDER_DEEDS: Deeds<NodeScene> = {
  ...NODE_DEEDS,
  // Without a gate, Node lets an error of this out where nobody listens.
  'end twice': async ({ visit, res }) => {
    visit.breaksOff = !visit.run.calm;
    res.statusCode = visit.respondsWith(200);
    res.end(visit.mark);
    await pause(visit);
    visit.respondsWith(200);
    res.end(visit.mark);
  },
};

/** Where its error handler has responded at the time limit, what would be refused of a first response is a second one. */
function countIfLate(visit: Visit): void {
  if (visit.errorStatus !== undefined) visit.responses += 1;
}
