import { Node } from 'ts-morph';
import type { Program } from '../core/model.js';
import { settingsIn } from '../core/settings.js';

/** How awilix passes dependencies: by the names of the parameters, or as one object. */
export type Mode = 'CLASSIC' | 'PROXY';

/** The injection mode of the program's containers; undefined where they differ. */
export function modeOf(program: Program, modules: readonly string[]): Mode | undefined {
  const [first = 'PROXY', ...others] = settingsIn<Mode>(
    program,
    modules,
    /createContainer|diContainerClassic/,
    (node, origins) => {
      if (Node.isIdentifier(node)) return origins.of(node) === 'diContainerClassic' ? 'CLASSIC' : undefined;
      if (!Node.isCallExpression(node) || origins.of(node.getExpression()) !== 'createContainer') return undefined;
      return /injectionMode['"]?:\s*(?:\w+\.)*['"]?CLASSIC/.test(node.getText()) ? 'CLASSIC' : 'PROXY';
    },
  );
  return others.length > 0 ? undefined : first;
}
