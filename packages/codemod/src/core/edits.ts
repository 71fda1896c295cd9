interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Changes of one text. What an outer change covers replaces the changes within. */
export class Edits {
  private list: Edit[] = [];

  constructor(private readonly source: string) {}

  replace(start: number, end: number, text: string): void {
    this.list = this.list.filter(
      (edit) => edit.start < start || edit.end > end || (edit.end === start && edit.start === start),
    );
    this.list.push({ start, end, text });
  }

  insert(at: number, text: string): void {
    this.list.push({ start: at, end: at, text });
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
