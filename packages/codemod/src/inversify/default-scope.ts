import { Node } from 'ts-morph';
import type { Program } from '../core/model.js';
import { settingsIn } from '../core/settings.js';

/** Whether the containers of the program make a binding a singleton if it does not say its scope; undefined where they differ. */
export function isSingletonByDefault(program: Program, modules: readonly string[]): boolean | undefined {
  const [first = false, ...others] = settingsIn<boolean>(program, modules, /Container/, (node, origins) => {
    if (!Node.isNewExpression(node) || origins.of(node.getExpression()) !== 'Container') return undefined;
    return /defaultScope['"]?:\s*(?:\w+\.)*['"]?Singleton/.test(node.getText());
  });
  return others.length > 0 ? undefined : first;
}
