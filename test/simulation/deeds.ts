import type { Visit } from './visit.js';

/** What a handler may do, by name. */
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
