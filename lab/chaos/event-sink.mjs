import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const KEY = Buffer.from('a key of 32 bytes, for the chaos');
/** The shares of deliveries that are refused, that get no response, and that are taken although the response is lost. */
const FAILS = 0.05;
const HANGS = 0.01;
const LOSES_RESPONSE = 0.03;

/** @typedef {{ id: string, type: string, subject: string, data: Record<string, unknown> }} ReceivedEvent */

/** A receiver that fails, hangs, and takes events whose sender then sends them again. */
export class EventSink {
  /** @type {ReceivedEvent[]} each at its first arrival, in that order */
  events = [];
  /** @type {number[]} from publish() to the first arrival, in milliseconds; both clocks are of this machine */
  lags = [];
  repeated = 0;
  refused = 0;
  hung = 0;
  /** @type {string[]} */
  forged = [];
  /** Whether it fails and hangs. */
  calm = false;
  #ids = new Set();
  #server = createServer((req, res) => void this.#receive(req, res));

  /** @returns {Promise<Record<string, string>>} the environment that makes the service use it */
  async listen() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#server.address());
    return { EVENTS_URL: `http://127.0.0.1:${port}/`, EVENTS_SECRET: `whsec_${KEY.toString('base64')}` };
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /**
   * @param {import('node:http').IncomingMessage} req
   * @param {import('node:http').ServerResponse} res
   */
  async #receive(req, res) {
    // A sender that is killed leaves half a request.
    const body = await text(req).catch(() => undefined);
    if (body === undefined) return;
    const chance = this.calm ? 1 : Math.random();
    if (chance < FAILS) {
      this.refused++;
      res.writeHead(500).end();
      return;
    }
    if (chance < FAILS + HANGS) {
      this.hung++;
      return;
    }
    this.#take(req.headers, body);
    if (chance < FAILS + HANGS + LOSES_RESPONSE) req.socket.destroy();
    else res.writeHead(204).end();
  }

  /**
   * @param {import('node:http').IncomingHttpHeaders} headers
   * @param {string} body
   */
  #take({ 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature }, body) {
    const wanted = createHmac('sha256', KEY)
      .update(`${String(id)}.${String(at)}.${body}`)
      .digest('base64');
    const event = JSON.parse(body);
    if (signature !== `v1,${wanted}` || id !== event.id) this.forged.push(body);
    if (this.#ids.has(event.id)) {
      this.repeated++;
      return;
    }
    this.#ids.add(event.id);
    this.events.push(event);
    this.lags.push(Date.now() - Date.parse(event.time));
  }
}
