import type { Shown, ShownBox, ShownGroup } from './graph-index.js';

/** Pixels, counted from the upper left corner of the drawing. */
export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Boxes, groups and services by id. */
  readonly places: ReadonlyMap<string, Rect>;
}

const SERVICE = { width: 188, height: 38 };
const GAP = { x: 44, y: 12 };
const PADDING = { x: 22, top: 14, bottom: 22 };
const HEADER = 54;
const COLLAPSED = { width: 210, height: 74 };
/** The least width in which the header of a box has place for its name and its numbers. */
const NARROWEST = 232;
/** Between the services of a box and the boxes in it; space for arrows. */
const BETWEEN = 64;
const BETWEEN_BOXES = 24;
/** The name of a feature above its services, and the space around them. */
const NAME = 26;
const AROUND = 10;

interface Block {
  readonly width: number;
  readonly height: number;
  put(x: number, y: number): void;
}

/** Gives every box, group and service its place: the same input, the same picture. */
export function layOut({ roots }: Shown): Layout {
  const places = new Map<string, Rect>();
  const blocks = roots.map((root) => boxBlock(root, places));
  const all = stack(blocks, BETWEEN_BOXES);
  all.put(0, 0);
  return { width: all.width, height: all.height, places };
}

function boxBlock({ box, collapsed, groups, inner }: ShownBox, places: Map<string, Rect>): Block {
  if (collapsed) return leaf(box.id, COLLAPSED.width, COLLAPSED.height, places);
  const services = servicesBlock(groups, places);
  const boxes = stack(
    inner.map((one) => boxBlock(one, places)),
    BETWEEN_BOXES,
  );
  const parts = [services, boxes].filter(({ width }) => width > 0);
  const body = sum(parts.map(({ width }) => width)) + BETWEEN * Math.max(0, parts.length - 1);
  const tallest = Math.max(0, services.height, boxes.height);
  const width = Math.max(NARROWEST, body + 2 * PADDING.x);
  const height = PADDING.top + HEADER + tallest + PADDING.bottom;
  return {
    width,
    height,
    put(x, y) {
      places.set(box.id, { x, y, width, height });
      let left = x + PADDING.x;
      for (const part of parts) {
        part.put(left, y + PADDING.top + HEADER + (tallest - part.height) / 2);
        left += part.width + BETWEEN;
      }
    },
  };
}

/** The groups of a box in columns of about the same height. */
function servicesBlock(groups: readonly ShownGroup[], places: Map<string, Rect>): Block {
  const drawn = sum(groups.map(({ collapsed, nodes }) => (collapsed ? 1 : nodes.length)));
  const rows = Math.ceil(drawn / columnsFor(drawn));
  const around = groups.some(({ feature }) => feature !== undefined) ? AROUND : 0;
  const blocks = groups.map((group) => groupBlock(group, rows, around, places));
  const area = sum(blocks.map(({ width, height }) => (height + GAP.y) * Math.ceil(width / (SERVICE.width + GAP.x))));
  const highest = Math.max(...blocks.map(({ height }) => height), area / columnsFor(drawn));
  const columns: Block[][] = [];
  let filled = Number.POSITIVE_INFINITY;
  for (const block of blocks) {
    if (filled + block.height > highest + SERVICE.height) columns.push([]);
    if (columns.at(-1)?.length === 0) filled = 0;
    columns.at(-1)?.push(block);
    filled += block.height + GAP.y;
  }
  return beside(columns.map((column) => stack(column, GAP.y)));
}

/** `around` also for services without a feature, so that all services of a column are below each other. */
function groupBlock(
  { id, feature, collapsed, nodes }: ShownGroup,
  rows: number,
  around: number,
  places: Map<string, Rect>,
): Block {
  if (collapsed) return indented(leaf(id, SERVICE.width, SERVICE.height, places), around);
  const columns = Math.max(1, Math.round(nodes.length / rows));
  const high = Math.ceil(nodes.length / columns);
  const [name, below] = feature === undefined ? [0, 0] : [NAME, AROUND];
  const width = columns * (SERVICE.width + GAP.x) - GAP.x + 2 * around;
  const height = high * (SERVICE.height + GAP.y) - GAP.y + name + below;
  return {
    width,
    height,
    put(x, y) {
      places.set(id, { x, y, width, height });
      for (const [i, node] of nodes.entries())
        places.set(node.id, {
          x: x + around + Math.floor(i / high) * (SERVICE.width + GAP.x),
          y: y + name + (i % high) * (SERVICE.height + GAP.y),
          ...SERVICE,
        });
    },
  };
}

/** One column while it is short; then about as wide as a screen. */
function columnsFor(services: number): number {
  if (services <= 9) return 1;
  if (services <= 30) return 2;
  return services <= 90 ? 4 : Math.round(Math.sqrt(services / 5));
}

function leaf(id: string, width: number, height: number, places: Map<string, Rect>): Block {
  return { width, height, put: (x, y) => void places.set(id, { x, y, width, height }) };
}

function indented(block: Block, by: number): Block {
  return { width: block.width + 2 * by, height: block.height, put: (x, y) => block.put(x + by, y) };
}

function stack(blocks: readonly Block[], gap: number): Block {
  return {
    width: Math.max(0, ...blocks.map(({ width }) => width)),
    height: sum(blocks.map(({ height }) => height)) + gap * Math.max(0, blocks.length - 1),
    put(x, y) {
      let top = y;
      for (const block of blocks) {
        block.put(x, top);
        top += block.height + gap;
      }
    },
  };
}

function beside(blocks: readonly Block[]): Block {
  return {
    width: sum(blocks.map(({ width }) => width)) + GAP.x * Math.max(0, blocks.length - 1),
    height: Math.max(0, ...blocks.map(({ height }) => height)),
    put(x, y) {
      let left = x;
      for (const block of blocks) {
        block.put(left, y);
        left += block.width + GAP.x;
      }
    },
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
