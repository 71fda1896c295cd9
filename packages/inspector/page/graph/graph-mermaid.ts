import type { ServiceEdge } from '../../src/wire.js';
import type { Shown, ShownBox } from './graph-shown.js';

const ARROWS: Record<ServiceEdge['kind'], string> = { one: '-->', lazy: '-.->', optional: '-.->', all: '==>' };

/** The part of the graph that is drawn, as a Mermaid flowchart. */
export function toMermaid({ roots, edges }: Shown): string {
  const ids = new Map<string, string>();
  const idOf = (id: string): string => {
    const known = ids.get(id) ?? `n${ids.size}`;
    ids.set(id, known);
    return known;
  };
  const lines = ['flowchart RL'];
  const node = (depth: number, id: string, text: string): void => {
    lines.push(`${'  '.repeat(depth)}${idOf(id)}["${escaped(text)}"]`);
  };
  const part = (depth: number, id: string, title: string, body: () => void): void => {
    lines.push(`${'  '.repeat(depth)}subgraph ${idOf(id)}["${escaped(title)}"]`);
    body();
    lines.push(`${'  '.repeat(depth)}end`);
  };
  const draw = ({ box, collapsed, size, groups, inner }: ShownBox, depth: number): void => {
    if (collapsed) return node(depth, box.id, `${box.tags} (${size})`);
    return part(depth, box.id, box.tags, () => {
      for (const { id, feature, collapsed: closed, nodes } of groups) {
        const services = (at: number): void => nodes.forEach((one) => node(at, one.id, one.key));
        if (closed) node(depth + 1, id, `${feature} (${nodes.length})`);
        else if (feature === undefined) services(depth + 1);
        else part(depth + 1, id, feature, () => services(depth + 2));
      }
      for (const one of inner) draw(one, depth + 1);
    });
  };
  for (const root of roots) draw(root, 1);
  for (const { from, to, kind } of edges) lines.push(`  ${idOf(from)} ${ARROWS[kind]} ${idOf(to)}`);
  const wrong = edges.flatMap(({ problem }, i) => (problem ? [i] : []));
  if (wrong.length > 0) lines.push(`  linkStyle ${wrong.join(',')} stroke:#cc2936`);
  return `${lines.join('\n')}\n`;
}

/** Within quotes Mermaid reads entities, and a few characters otherwise. */
function escaped(text: string): string {
  return text.replaceAll(/[#&"<>`\\\n]/g, (character) => `#${character.charCodeAt(0)};`);
}
