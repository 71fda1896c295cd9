/** Parses the responses on a connection. */
export class Responses {
  /** The ids of orders that a complete response reported as stored. */
  stored = [];
  count = 0;
  #text = '';

  add(chunk) {
    this.#text += chunk.toString('latin1');
    for (let end = this.#endOfFirst(); end <= this.#text.length; end = this.#endOfFirst()) {
      const id = /^HTTP\/1\.1 201 [^]*"stored":"([^"]+)"/.exec(this.#text.slice(0, end))?.[1];
      if (id) this.stored.push(id);
      this.#text = this.#text.slice(end);
      this.count++;
    }
  }

  #endOfFirst() {
    const head = this.#text.indexOf('\r\n\r\n');
    if (head === -1) return Infinity;
    const length = /^content-length: (\d+)\r$/im.exec(this.#text.slice(0, head + 2))?.[1] ?? 0;
    return head + 4 + Number(length);
  }
}
