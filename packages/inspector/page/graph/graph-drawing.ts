import type { ServiceEdge } from '../../src/wire.js';
import { type Shown, type ShownBox, way } from './graph-index.js';
import type { Layout, Rect } from './graph-layout.js';

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
    lines.push(`${'  '.repeat(depth)}${idOf(id)}["${escapedForMermaid(text)}"]`);
  };
  const part = (depth: number, id: string, title: string, body: () => void): void => {
    lines.push(`${'  '.repeat(depth)}subgraph ${idOf(id)}["${escapedForMermaid(title)}"]`);
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
function escapedForMermaid(text: string): string {
  return text.replaceAll(/[#&"<>`\\\n]/g, (character) => `#${character.charCodeAt(0)};`);
}

/** The colours of the page's theme. */
export type Palette = Readonly<
  Record<'bad' | 'line' | 'muted' | 'page' | 'strong-line' | 'surface' | 'text', string>
> & {
  readonly lifetimes: readonly string[];
  readonly tints: readonly string[];
};

const MARGIN = 24;
/** Of a letter, in ems: generous, because the reader may lack the font. */
const LETTER = 0.58;

/** The part of the graph that is drawn, as an SVG file without references to anything else. */
export function toSvg({ roots, edges }: Shown, { width, height, places }: Layout, colors: Palette): string {
  const parts: string[] = [];
  const rect = (id: string, radius: number, style: string): Rect | undefined => {
    const at = places.get(id);
    if (at)
      parts.push(`<rect x="${at.x}" y="${at.y}" width="${at.width}" height="${at.height}" rx="${radius}" ${style}/>`);
    return at;
  };
  const text = (x: number, y: number, words: string, size: number, most: number, style: string): void => {
    parts.push(
      `<text x="${x}" y="${y}" font-size="${size}" ${style}>${escapedForSvg(cut(words, most / (size * LETTER)))}</text>`,
    );
  };
  const service = (id: string, words: string, style: string): void => {
    const at = rect(id, 10, `fill="${colors.surface}" stroke="${colors['strong-line']}" stroke-width="1.5" ${style}`);
    if (at) text(at.x + 14, at.y + 24, words, 13, at.width - 28, `fill="${colors.text}"`);
  };
  const draw = ({ box, collapsed, size, groups, inner }: ShownBox, depth: number): void => {
    const [lifetime, tint] = [colors.lifetimes[depth % 4], colors.tints[depth % 4]];
    const at = rect(box.id, 18, `fill="${tint}" stroke="${lifetime}" stroke-width="1.5"`);
    if (!at) return;
    text(at.x + 22, at.y + 32, box.tags, 15, at.width - 44, `font-weight="700" fill="${lifetime}"`);
    if (collapsed) return text(at.x + 22, at.y + 52, servicesIn(size), 12, at.width - 44, `fill="${colors.muted}"`);
    for (const { id, feature, collapsed: closed, nodes } of groups) {
      if (closed) {
        service(id, `${feature} · ${servicesIn(nodes.length)}`, 'stroke-dasharray="2 3"');
        continue;
      }
      const around = feature === undefined ? undefined : rect(id, 14, `fill="none" stroke="${colors.line}"`);
      if (around) text(around.x + 12, around.y + 18, feature ?? '', 12, around.width - 24, `fill="${colors.muted}"`);
      for (const node of nodes) service(node.id, node.key, node.singleton ? '' : 'stroke-dasharray="4 3"');
    }
    for (const one of inner) draw(one, depth + 1);
  };
  for (const root of roots) draw(root, 0);
  for (const { from, to, kind, problem } of edges) {
    const [start, end] = [places.get(from), places.get(to)];
    const dashes = kind === 'lazy' ? ' stroke-dasharray="4 4"' : '';
    const color = problem ? colors.bad : colors.muted;
    if (start && end)
      parts.push(
        `<path d="${way(start, end)}" fill="none" stroke="${color}"${dashes} marker-end="url(#${problem ? 'bad' : 'head'})"/>`,
      );
  }
  const head = (id: string, color: string): string =>
    `<marker id="${id}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0.5 L8 4 L0 7.5 z" fill="${color}"/></marker>`;
  const [wide, high] = [width + 2 * MARGIN, height + 2 * MARGIN];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-MARGIN} ${-MARGIN} ${wide} ${high}" width="${wide}" height="${high}" font-family="system-ui, sans-serif">
<defs>${head('head', colors.muted)}${head('bad', colors.bad)}</defs>
<rect x="${-MARGIN}" y="${-MARGIN}" width="${wide}" height="${high}" fill="${colors.page}"/>
${parts.join('\n')}
</svg>
`;
}

function servicesIn(count: number): string {
  return count === 1 ? '1 service' : `${count} services`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, Math.floor(most) - 1))}…`;
}

function escapedForSvg(text: string): string {
  return text.replaceAll(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
