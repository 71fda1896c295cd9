import type { Node } from 'ts-morph';
import type { Program } from './model.js';
import { Origins } from './names/origins.js';

/** What the containers of the whole program say about a setting. */
export function settingsIn<T>(
  program: Program,
  modules: readonly string[],
  mentions: RegExp,
  read: (node: Node, origins: Origins) => T | undefined,
): ReadonlySet<T> {
  const origins = new Origins(modules);
  const settings = new Set<T>();
  for (const file of program.files) {
    if (!mentions.test(file.getFullText())) continue;
    for (const node of file.getDescendants()) {
      const setting = read(node, origins);
      if (setting !== undefined) settings.add(setting);
    }
  }
  return settings;
}
