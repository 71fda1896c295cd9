import { Readable } from 'node:stream';
import type { IConnection } from '@ambit/transaction';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Visit, visitOf } from './visit.js';
import { breaking, ignore, pause, untilGone, wait, work } from './work.js';

interface Scene {
  readonly visit: Visit;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

type Deeds = Readonly<Record<string, (scene: Scene) => unknown>>;

/** Everything a handler may do without a transaction, or with one that is over. */
const PLAIN_DEEDS: Deeds = {
  answer: ({ visit, reply }) => reply.code(visit.answersWith(201)).send({ mark: visit.mark }),
  'return the answer': ({ visit, reply }) => {
    reply.code(visit.answersWith(200));
    return { mark: visit.mark };
  },
  refuse: ({ visit, reply }) => reply.code(visit.answersWith(409)).send({ mark: visit.mark }),
  'say nothing but a status': ({ visit, reply }) => reply.code(visit.answersWith(204)).send(),
  redirect: ({ visit, reply }) => reply.redirect(`/${visit.mark}`, visit.answersWith(303)),
  'send a stream': ({ visit, reply }) =>
    reply.code(visit.answersWith(200)).send(Readable.from([`${visit.mark} `, visit.mark])),
  'send a stream that breaks': ({ visit, reply }) => {
    visit.breaksOff = true;
    return reply.code(visit.answersWith(200)).send(Readable.from(breaking(visit)));
  },
  'answer twice': async ({ visit, reply }) => {
    void reply.code(visit.answersWith(201)).send({ mark: visit.mark });
    await pause(visit);
    return reply.code(visit.answersWith(500)).send({ mark: visit.mark });
  },
  'answer, then throw': async ({ visit, reply }) => {
    void reply.code(visit.answersWith(201)).send({ mark: visit.mark });
    await pause(visit);
    throw new Error('failed after the answer');
  },
  'answer past the hooks': ({ visit, reply }) => {
    reply.hijack();
    reply.raw.writeHead(visit.answersWith(200));
    reply.raw.end(visit.mark);
    return reply;
  },
  throw: ({ visit }) => {
    throw visit.fails();
  },
  'send an error': ({ visit, reply }) => reply.send(visit.fails()),
  'answer what cannot be serialised': ({ visit, reply }) => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    visit.fails();
    return reply.send(circle);
  },
  'wait for ever': ({ visit }) => wait(visit),
  'wait until the client is gone': async ({ visit, request, reply }) => {
    await untilGone(visit, request.container);
    return reply.code(visit.answersWith(200)).send({ mark: visit.mark });
  },
  'destroy the answer': ({ visit, reply }) => {
    visit.breaksOff = true;
    reply.raw.destroy();
    return reply;
  },
};

/** Every way to end a transaction, or not to. */
const ORDER_DEEDS: Deeds = {
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
  'wait for ever': ({ visit }) => wait(visit),
  'commit without awaiting it, then answer': async (scene) => {
    const { visit, reply } = scene;
    // Who is notified before it responds, and responds all the same, is not to be believed.
    commit(scene).catch(() => (visit.lies = !visit.first));
    if (visit.life.chance.of(0.5)) await pause(visit);
    return reply.code(visit.answersWith(201)).send({ mark: visit.mark });
  },
  'commit without awaiting it, then throw': (scene) => {
    commit(scene).catch(ignore);
    throw scene.visit.fails();
  },
  'answer with the transaction open': ({ visit, reply }) =>
    reply.code(visit.answersWith(201)).send({ mark: visit.mark }),
  'answer with the transaction open, then commit': async ({ visit, request, reply }) => {
    void reply.code(visit.answersWith(201)).send({ mark: visit.mark });
    await pause(visit);
    await request.commitTransaction().catch(ignore);
    return reply;
  },
  'answer past the hooks with the transaction open': ({ visit, reply }) => {
    visit.lies = true;
    reply.hijack();
    reply.raw.writeHead(visit.answersWith(200));
    reply.raw.end(visit.mark);
    return reply;
  },
  'roll back and refuse': async ({ visit, request, reply }) => {
    visit.asked = 'rollback';
    await request.rollbackTransaction();
    return reply.code(visit.answersWith(409)).send({ mark: visit.mark });
  },
  'commit by itself': async ({ visit, reply }) => {
    visit.asked = 'commit';
    visit.endsItself = true;
    await visit.handles[0]?.commit();
    visit.committed();
    return reply.code(visit.answersWith(201)).send({ mark: visit.mark });
  },
  'roll back by itself and refuse': async ({ visit, reply }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    return reply.code(visit.answersWith(409)).send({ mark: visit.mark });
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
    return reply.code(visit.answersWith(201)).send({ mark: visit.mark });
  },
};

async function commit({ visit, request }: Scene): Promise<void> {
  visit.asked = 'commit';
  await request.commitTransaction();
  visit.committed();
}

/** The handler of every route. */
export async function answerOnFastify(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const visit = visitOf(request.raw);
  const { chance } = visit.life;
  const [deeds, usual] = visit.inTransaction ? [ORDER_DEEDS, 'commit, then answer'] : [PLAIN_DEEDS, 'answer'];
  const name = chance.of(0.35) ? usual : chance.pick(Object.keys(deeds));
  visit.note(`means to ${name}`);
  try {
    if (visit.inTransaction) await begin(visit, request);
    else await pause(visit);
    if (chance.of(0.2)) reply.header('location', `/${visit.mark}`);
    return await deeds[name]?.({ visit, request, reply });
  } catch (error) {
    visit.fails();
    throw error;
  }
}

async function begin(visit: Visit, request: FastifyRequest): Promise<void> {
  const working = work(visit, await request.startTransaction(visit.terms()));
  if (visit.life.chance.of(0.9)) await working;
  else await working.catch(() => visit.note('swallows a failure'));
}
