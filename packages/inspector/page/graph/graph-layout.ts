import type { BoxTree, GraphIndex, Group } from './graph-index.js';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Pixels, counted from the upper left corner of the drawing. */
export interface Rect extends Size {
  readonly x: number;
  readonly y: number;
}

export interface Layout extends Size {
  readonly roots: readonly BoxTree[];
  /** Boxes, groups and services by id. */
  readonly places: ReadonlyMap<string, Rect>;
  /** Whether inner boxes stand below the services of the outer one, not beside them. */
  readonly isTall: boolean;
  readonly look: string;
  readonly space: Size;
  /** How large the drawing is at first; 1 is its full size. */
  readonly scale: number;
}

/** In a drawing that is smaller than this nobody can read the names: it is as wide as its space, and scrolled. */
const READABLE = 0.66;
const LARGEST = 1.8;
/** How many services stand below each other. A later number has to be better than an earlier one. */
const ROWS = [9, 12, 7, 5, 3, 15, 18, 21, 24, 28, 32, 40, 60, 100];
const BETTER = 1.03;
/** The least width in which the header of a box has place for its name and its numbers. */
const NARROWEST = 172;
const BETWEEN_BOXES = 22;
const AROUND_GROUP = 8;

/**
 * How services look; the style sheet has the rest of it, by the name. A service is as wide as its name in letters of the size `font`, and
 * `beside`.
 */
const LARGE = { name: 'large', height: 38, gap: { x: 44, y: 12 }, font: 13, beside: 48 };
const MEDIUM: typeof LARGE = { name: 'medium', height: 30, gap: { x: 28, y: 7 }, font: 13, beside: 44 };
const SMALL: typeof LARGE = { name: 'small', height: 20, gap: { x: 12, y: 2 }, font: 11, beside: 30 };

type Gap = typeof LARGE.gap;

/** One way to lay the graph out. */
interface Plan {
  readonly look: typeof LARGE;
  readonly rows: number;
  readonly isTall: boolean;
  /** Of the name of a service, in letters of 13 pixels. */
  readonly widthOf: (key: string) => number;
  readonly places: Map<string, Rect>;
}

interface Block extends Size {
  readonly put: (x: number, y: number) => void;
}

/**
 * Gives every box, group and service its place: of several arrangements the one that is largest when all of it fits into the space. Where
 * none can be read, the features are not named; where that does not help either, the drawing is as wide as the space, and scrolled.
 */
export function layOut({ view, roots }: GraphIndex, space: Size, widthOf: Plan['widthOf'] = estimated): Layout {
  const look = view.nodes.length > 80 ? SMALL : view.nodes.length > 30 ? MEDIUM : LARGE;
  const ways = [false, true].flatMap((isTall) => ROWS.map((rows) => ({ look, rows, isTall, widthOf })));
  const arranged = (trees: readonly BoxTree[]) =>
    ways.map((one) => {
      const places = new Map<string, Rect>();
      const boxes = trees.map((tree) => boxBlock(tree, { ...one, places }));
      const { width, height, put } = stack(boxes, BETWEEN_BOXES);
      put(0, 0);
      const wide = Math.min(LARGEST, space.width / width);
      const scale = Math.min(wide, space.height / height);
      return { roots: trees, width, height, places, isTall: one.isTall, look: look.name, space, wide, scale };
    });
  const named = arranged(roots);
  const whole = [named, arranged(roots.map(withoutFeatures))].map((all) =>
    all.reduce((best, one) => (one.scale > best.scale * BETTER ? one : best)),
  );
  const fitting = whole.find(({ scale }) => scale >= READABLE);
  if (fitting) return fitting;
  const least = Math.min(READABLE, Math.max(...named.map(({ wide }) => wide)));
  const readable = named.filter(({ wide }) => wide >= least);
  const lowest = readable.reduce((best, one) => (one.height * one.wide < best.height * best.wide ? one : best));
  return { ...lowest, scale: lowest.wide };
}

const estimated = (key: string): number => key.length * 7.7;

function withoutFeatures({ box, groups, inner }: BoxTree): BoxTree {
  const all = { id: `${box.id}\n`, feature: undefined, nodes: groups.flatMap(({ nodes }) => nodes) };
  return { box, groups: groups.length > 0 ? [all] : [], inner: inner.map(withoutFeatures) };
}

function boxBlock({ box, groups, inner }: BoxTree, plan: Plan): Block {
  const { isTall, look, places } = plan;
  const [aside, header] = isTall ? [16, 44] : look === SMALL ? [14, 56] : [22, 68];
  const boxes = inner.map((one) => boxBlock(one, plan));
  const parts = [servicesBlock(groups, plan), stack(boxes, BETWEEN_BOXES)].filter(({ width }) => width > 0);
  const body = isTall ? stack(parts, BETWEEN_BOXES) : beside(parts, look.gap.x + BETWEEN_BOXES, 0.5);
  const width = Math.max(NARROWEST, body.width) + 2 * aside;
  const height = header + body.height + aside;
  return {
    width,
    height,
    put(x, y) {
      places.set(box.id, { x, y, width, height });
      body.put(x + aside, y + header);
    },
  };
}

/** The groups of a box in columns that are no higher than the highest of them, or the wanted rows. */
function servicesBlock(groups: readonly Group[], plan: Plan): Block {
  const { look, rows, isTall, widthOf } = plan;
  const longest = Math.max(0, ...groups.flatMap(({ nodes }) => nodes.map(({ key }) => widthOf(key))));
  const width = Math.min(230, Math.max(3 * look.beside, look.beside + (longest * look.font) / 13));
  const service = { width, height: look.height };
  const gap = isTall ? { x: Math.min(26, look.gap.x), y: look.gap.y } : look.gap;
  const around = groups.some(({ feature }) => feature !== undefined) ? AROUND_GROUP : 0;
  const blocks = groups.map((group) => groupBlock(group, service, gap, around, plan));
  const most = Math.max(rows * (service.height + gap.y), ...blocks.map((block) => block.height));
  const columns: Block[][] = [];
  let filled = Number.POSITIVE_INFINITY;
  for (const block of blocks) {
    if (filled + block.height > most) {
      columns.push([]);
      filled = 0;
    }
    columns.at(-1)?.push(block);
    filled += block.height + gap.y;
  }
  const stacks = columns.map((column) => stack(column, gap.y));
  return beside(stacks, gap.x, 0);
}

/** `around` also for services without a feature, so that all services of a column are below each other. */
function groupBlock({ id, feature, nodes }: Group, service: Size, gap: Gap, around: number, plan: Plan): Block {
  const columns = Math.ceil(nodes.length / plan.rows);
  const high = Math.ceil(nodes.length / columns);
  const [above, below] = feature === undefined ? [0, 0] : [plan.look.font + 8, around];
  const width = columns * (service.width + gap.x) - gap.x + 2 * around;
  const height = high * (service.height + gap.y) - gap.y + above + below;
  return {
    width,
    height,
    put(left, top) {
      plan.places.set(id, { x: left, y: top, width, height });
      for (const [i, node] of nodes.entries()) {
        const x = left + around + Math.floor(i / high) * (service.width + gap.x);
        plan.places.set(node.id, { x, y: top + above + (i % high) * (service.height + gap.y), ...service });
      }
    },
  };
}

const stack = (blocks: readonly Block[], gap: number): Block => turned(beside(blocks.map(turned), gap, 0));

/** As seen in a mirror along the diagonal, where what is below is beside. */
function turned({ width, height, put }: Block): Block {
  return { width: height, height: width, put: (x, y) => put(y, x) };
}

/** `from` says where the lower ones stand: 0 at the top, 0.5 in the middle. */
function beside(blocks: readonly Block[], gap: number, from: number): Block {
  const height = Math.max(0, ...blocks.map((block) => block.height));
  const width = blocks.reduce((sum, block) => sum + block.width + gap, 0);
  return {
    width: Math.max(0, width - gap),
    height,
    put(x, y) {
      let left = x;
      for (const block of blocks) {
        block.put(left, y + (height - block.height) * from);
        left += block.width + gap;
      }
    },
  };
}

/** To the left if the dependency has a longer lifetime; a curve if both are in one column; to the right it is a captive dependency. */
export function way(from: Rect, to: Rect): string {
  const [fromY, toY] = [from.y + from.height / 2, to.y + to.height / 2];
  const inOneColumn = from.x < to.x + to.width && to.x < from.x + from.width;
  if (inOneColumn) {
    const x = Math.min(from.x, to.x) - Math.min(20, 10 + Math.abs(toY - fromY) / 20);
    return `M${from.x} ${fromY} C${x} ${fromY} ${x} ${toY} ${to.x - 1} ${toY}`;
  }
  const [start, end, sign] = from.x > to.x ? [from.x, to.x + to.width + 1, -1] : [from.x + from.width, to.x - 1, 1];
  const pull = sign * Math.max(30, Math.abs(end - start) / 2.4);
  return `M${start} ${fromY} C${start + pull} ${fromY} ${end - pull} ${toY} ${end} ${toY}`;
}
