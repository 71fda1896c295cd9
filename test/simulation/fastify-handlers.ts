import { Readable } from 'node:stream';
import type { IConnection } from '@ambit/transaction';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { chooseDeed, type Deeds } from './deeds.js';
import { type Visit, visitOf } from './visit.js';
import { breaking, ignore, pause, untilDisconnected, wait, work } from './work.js';

interface Scene {
  readonly visit: Visit;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Everything a handler may do without a transaction, or with one that is over. */
const PLAIN_DEEDS: Deeds<Scene> = {
  respond: ({ visit, reply }) => reply.code(visit.respondsWith(201)).send({ mark: visit.mark }),
  'return the response': ({ visit, reply }) => {
    reply.code(visit.respondsWith(200));
    return { mark: visit.mark };
  },
  refuse: ({ visit, reply }) => reply.code(visit.respondsWith(409)).send({ mark: visit.mark }),
  'say nothing but a status': ({ visit, reply }) => reply.code(visit.respondsWith(204)).send(),
  redirect: ({ visit, reply }) => reply.redirect(`/${visit.mark}`, visit.respondsWith(303)),
  'send a stream': ({ visit, reply }) => reply.code(visit.respondsWith(200)).send(Readable.from(visit.parts())),
  'send a stream that breaks': ({ visit, reply }) => {
    visit.breaksOff = true;
    return reply.code(visit.respondsWith(200)).send(Readable.from(breaking(visit)));
  },
  'respond twice': async ({ visit, reply }) => {
    void reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
    await pause(visit);
    return reply.code(visit.respondsWith(500)).send({ mark: visit.mark });
  },
  'respond, then throw': async ({ visit, reply }) => {
    void reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
    await pause(visit);
    throw new Error('failed after the response');
  },
  'respond past the hooks': ({ visit, reply }) => {
    reply.hijack();
    reply.raw.writeHead(visit.respondsWith(200));
    reply.raw.end(visit.mark);
    return reply;
  },
  throw: ({ visit }) => {
    throw visit.fails();
  },
  'send an error': ({ visit, reply }) => reply.send(visit.fails()),
  'respond with what cannot be serialised': ({ visit, reply }) => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    visit.fails();
    return reply.send(circular);
  },
  'wait forever': ({ visit }) => wait(visit),
  'wait until the client disconnects': async ({ visit, request, reply }) => {
    await untilDisconnected(visit, request.container);
    return reply.code(visit.respondsWith(200)).send({ mark: visit.mark });
  },
  'destroy the response': ({ visit, reply }) => {
    visit.breaksOff = true;
    reply.raw.destroy();
    return reply;
  },
};

/** Every way to commit, to roll back, or to do neither. */
const ORDER_DEEDS: Deeds<Scene> = {
  ...Object.fromEntries(
    Object.entries(PLAIN_DEEDS).map(([name, deed]) => [
      `commit, then ${name}`,
      async (scene: Scene) => {
        await commit(scene);
        return deed(scene);
      },
    ]),
  ),
  throw: ({ visit }) => {
    throw visit.fails();
  },
  'send an error': ({ visit, reply }) => reply.send(visit.fails()),
  'wait forever': ({ visit }) => wait(visit),
  'commit without awaiting it, then respond': async (scene) => {
    const { visit, reply } = scene;
    // Who is notified before it responds, and responds all the same, is not to be believed.
    commit(scene).catch(() => (visit.lies = !visit.first));
    if (visit.run.chance.of(0.5)) await pause(visit);
    return reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
  },
  'commit without awaiting it, then throw': (scene) => {
    commit(scene).catch(ignore);
    throw scene.visit.fails();
  },
  'respond with the transaction open': ({ visit, reply }) =>
    reply.code(visit.respondsWith(201)).send({ mark: visit.mark }),
  'respond with the transaction open, then commit': async ({ visit, request, reply }) => {
    void reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
    await pause(visit);
    await request.commitTransaction().catch(ignore);
    return reply;
  },
  'respond past the hooks with the transaction open': ({ visit, reply }) => {
    visit.lies = true;
    reply.hijack();
    reply.raw.writeHead(visit.respondsWith(200));
    reply.raw.end(visit.mark);
    return reply;
  },
  'roll back and refuse': async ({ visit, request, reply }) => {
    visit.asked = 'rollback';
    await request.rollbackTransaction();
    return reply.code(visit.respondsWith(409)).send({ mark: visit.mark });
  },
  'commit by itself': async ({ visit, reply }) => {
    visit.asked = 'commit';
    visit.endsItself = true;
    await visit.handles[0]?.commit();
    visit.committed();
    return reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
  },
  'roll back by itself and refuse': async ({ visit, reply }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    return reply.code(visit.respondsWith(409)).send({ mark: visit.mark });
  },
  'begin twice': async ({ visit, request }) => {
    await request.startTransaction(visit.terms());
    visit.broke('a second transaction began beside the first');
  },
  'commit twice': async (scene) => {
    await commit(scene);
    return commit(scene);
  },
  'commit, then begin another': async (scene) => {
    const { visit, request, reply } = scene;
    await commit(scene);
    const again = await request.startTransaction(visit.terms());
    const connection = again.resolve<IConnection>('IConnection');
    visit.handles.push(connection);
    visit.written.add(`${visit.mark} again`);
    await connection.query(`${visit.mark} again`);
    await commit(scene);
    return reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
  },
};

async function commit({ visit, request }: Scene): Promise<void> {
  visit.asked = 'commit';
  await request.commitTransaction();
  visit.committed();
}

/** The handler of every route. */
export async function respondOnFastify(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const visit = visitOf(request.raw);
  const { chance } = visit.run;
  const deed = visit.inTransaction
    ? chooseDeed(visit, ORDER_DEEDS, 'commit, then respond')
    : chooseDeed(visit, PLAIN_DEEDS, 'respond');
  try {
    if (visit.inTransaction) await begin(visit, request);
    else await pause(visit);
    if (chance.of(0.2)) reply.header('location', `/${visit.mark}`);
    return await deed({ visit, request, reply });
  } catch (error) {
    visit.fails();
    throw error;
  }
}

async function begin(visit: Visit, request: FastifyRequest): Promise<void> {
  const working = work(visit, await request.startTransaction(visit.terms()));
  if (visit.run.chance.of(0.9)) await working;
  else await working.catch(() => visit.note('swallows a failure'));
}
