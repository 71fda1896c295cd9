import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { IContainer } from '@ambit/container';
import type { Visit } from './visit.js';
import { ROLLS_BACK } from './moments.js';
import { breaking, ignore, pause, untilDisconnected, wait, work } from './work.js';

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

/** The scopes of a handler, and its ways to respond on its host; a handler of a `Request` returns their result. */
export interface Scene {
  readonly visit: Visit;
  /** That of the request. */
  readonly scope: IContainer;
  /** That of the transaction, where it has one. */
  readonly orderScope: IContainer | undefined;
  json(status: number, body?: unknown): unknown;
  /** Responds with nothing but a status. */
  empty(status: number): unknown;
  redirect(to: string): unknown;
}

/** A scene of a host over `node:http`. */
export interface NodeScene extends Scene {
  readonly res: ServerResponse;
  /** Begins a second transaction. */
  begin(): unknown;
}

/** Everything a handler may do on every host. */
export const ANY_DEEDS: Deeds<Scene> = {
  respond: ({ json }) => json(201),
  refuse: ({ json }) => json(409),
  'respond with nothing but a status': ({ empty }) => empty(204),
  redirect: ({ visit, redirect }) => redirect(`/${visit.mark}`),
  throw: ({ visit }) => {
    throw visit.fails();
  },
  'respond with what cannot be serialised': ({ json }) => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    return json(201, circular);
  },
  'wait forever': ({ visit }) => wait(visit),
  'wait until the client disconnects': async ({ visit, scope, json }) => {
    await untilDisconnected(visit, scope);
    return json(200);
  },
};

/** The deeds that need a transaction. */
export const ANY_ORDER_DEEDS: Deeds<Scene> = {
  'commit by itself': async ({ visit, json }) => {
    visit.asked = 'commit';
    visit.endsItself = true;
    await visit.handles[0]?.commit();
    visit.committed();
    return json(201);
  },
  'roll back and refuse': async ({ visit, json }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    return json(409);
  },
  'roll back and say it went well': async ({ visit, json }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    return json(201);
  },
};

/** A handler on a host whose response commits does its work, and then one of the deeds. */
export async function act<S extends Scene>(scene: S, plain: Deeds<S>, ofOrders: Deeds<S>): Promise<unknown> {
  const { visit, orderScope } = scene;
  const { chance } = visit.run;
  const deed = chooseDeed(visit, visit.inTransaction ? ofOrders : plain, 'respond');
  try {
    if (!visit.inTransaction) await pause(visit);
    else if (chance.of(0.9)) await work(visit, orderScope);
    else await work(visit, orderScope).catch(() => visit.note('swallows a failure'));
    return await deed(scene);
  } catch (error) {
    visit.fails();
    throw error;
  }
}

/** Everything a handler may do with the response of Node when its work is done; those that nobody should are among them. */
export const NODE_DEEDS: Deeds<NodeScene> = {
  ...ANY_DEEDS,
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
  'respond with a status there is not': ({ visit, res }) => {
    countIfLate(visit);
    res.statusCode = 1000;
    res.end();
  },
  'destroy the response': ({ visit, res }) => {
    visit.breaksOff = true;
    res.destroy();
  },
  'respond, then throw': async ({ visit, json }) => {
    json(201);
    visit.breaksOff = true;
    await pause(visit);
    throw new Error('failed after the response');
  },
};

/** The deeds that need a transaction. */
export const NODE_ORDER_DEEDS: Deeds<NodeScene> = {
  ...NODE_DEEDS,
  ...ANY_ORDER_DEEDS,
  'respond, then ask for more': async ({ visit, json }) => {
    json(201);
    await visit.handles[0]?.query('after the response').catch(ignore);
  },
  'begin another transaction': ({ visit, begin }) => {
    visit.fails();
    return begin();
  },
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
