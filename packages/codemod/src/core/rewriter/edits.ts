import type { Node } from 'ts-morph';

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Changes of one text. What an outer change covers replaces the changes within. */
export class Edits {
  private list: Edit[] = [];

  constructor(private readonly source: string) {}

  replace(node: Node, text: string): void {
    this.replaceRange(node.getStart(), node.getEnd(), text);
  }

  replaceRange(start: number, end: number, text: string): void {
    this.list = this.list.filter(
      (edit) => edit.start < start || edit.end > end || (edit.end === start && edit.start === start),
    );
    this.list.push({ start, end, text });
  }

  insert(at: number, text: string): void {
    this.list.push({ start: at, end: at, text });
  }

  /** Removes the node and, where nothing else is on its line, the line. */
  remove(node: Node): void {
    const text = this.source;
    let end = node.getEnd();
    while (/[ \t]/.test(text[end] ?? '')) end++;
    if (text[end] === '\r') end++;
    let start = node.getStart();
    while (/[ \t]/.test(text[start - 1] ?? '')) start--;
    const alone = start === 0 || text[start - 1] === '\n';
    if (text[end] === '\n' && alone) this.replaceRange(start, end + 1, '');
    else if (alone && text[end] !== '\n') this.replaceRange(node.getStart(), end, '');
    else this.replaceRange(text[end] === '\n' ? start : node.getStart(), end, '');
  }

  /** Removes the node and the space after it. */
  removeWithGap(node: Node): void {
    let end = node.getEnd();
    while (/\s/.test(this.source[end] ?? '')) end++;
    this.replaceRange(node.getStart(), end, '');
  }

  /** The text from `start` to `end`, with the changes within. */
  apply(start = 0, end = this.source.length): string {
    const within = this.list
      .map((edit, order) => ({ ...edit, order }))
      .filter((edit) => edit.start >= start && edit.end <= end)
      .toSorted((a, b) => a.start - b.start || a.end - b.end || a.order - b.order);
    let at = start;
    let result = '';
    for (const edit of within) {
      result += this.source.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return result + this.source.slice(at, end);
  }
}
