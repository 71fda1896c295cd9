import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';

/** Reserved for tests of networks; the last number is that of the machine. */
const CLIENTS = '198.18';
/** Only inside of the namespaces. */
const PEERS = '10.0.0';
const US = 254;

/** @typedef {{ pid: number, close: () => void }} Namespace */

/**
 * Machines with two network cards: one cable leads to the switch of the cluster and can be pulled out, the other one to the
 * clients. Each machine, and the switches, is a network namespace, which disappears with this process, however that exits.
 */
export class Network {
  /** @type {readonly Namespace[]} */
  #machines;
  #switch;
  #subnet;

  /** @param {Namespace} hub @param {readonly Namespace[]} machines @param {string} subnet */
  constructor(hub, machines, subnet) {
    this.#switch = hub;
    this.#machines = machines;
    this.#subnet = subnet;
  }

  /** @param {number} count of machines */
  static async open(count) {
    const [hub, ...machines] = await Promise.all(Array.from({ length: count + 1 }, openNamespace));
    if (!hub) throw new Error('There is no switch');
    const network = new Network(hub, machines, freeSubnet());
    try {
      network.#connect();
    } catch (error) {
      network.close();
      throw error;
    }
    return network;
  }

  /** Where the others of the cluster find this machine. @param {number} machine from 1 */
  peerAddress(machine) {
    return `${PEERS}.${machine}`;
  }

  /** Where its clients find this machine. @param {number} machine */
  clientAddress(machine) {
    return `${this.#subnet}.${machine}`;
  }

  /** What runs a program on this machine. @param {number} machine */
  on(machine) {
    const namespace = this.#machines[machine - 1];
    if (!namespace) throw new Error(`There is no machine ${machine}`);
    return enter(namespace);
  }

  /** Its packets reach no other machine of the cluster, and nothing says so. @param {number} machine */
  unplug(machine) {
    ip(this.#switch, [`link set peers${machine} nomaster`]);
  }

  /** @param {number} machine */
  plug(machine) {
    ip(this.#switch, [`link set peers${machine} master peers`]);
  }

  close() {
    for (const { close } of [this.#switch, ...this.#machines]) close();
  }

  #connect() {
    const us = `ambit${process.pid}`;
    execFileSync('ip', ['link', 'add', us, 'type', 'veth', 'peer', 'name', 'us', 'netns', String(this.#switch.pid)]);
    execFileSync('ip', ['address', 'add', `${this.#subnet}.${US}/24`, 'dev', us]);
    execFileSync('ip', ['link', 'set', us, 'up']);
    ip(this.#switch, [
      ...['peers', 'clients'].flatMap((name) => [`link add ${name} type bridge`, `link set ${name} up`]),
      'link set us master clients',
      'link set us up',
    ]);
    this.#machines.forEach((machine, index) => {
      const number = index + 1;
      const cables = { peers: this.peerAddress(number), clients: this.clientAddress(number) };
      ip(machine, ['link set lo up']);
      for (const [name, address] of Object.entries(cables)) {
        const port = `${name}${number}`;
        ip(this.#switch, [
          `link add ${port} type veth peer name ${name} netns ${machine.pid}`,
          `link set ${port} master ${name}`,
          `link set ${port} up`,
        ]);
        ip(machine, [`address add ${address}/24 dev ${name}`, `link set ${name} up`]);
      }
    });
  }
}

/** Needs root, or a container that may make namespaces. @returns {Promise<Namespace>} */
async function openNamespace() {
  // It reads until this process has exited.
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(holder, 'exit');
  const ready = await Promise.race([once(holder.stdout, 'data'), exited.then(() => undefined)]);
  if (!ready || holder.pid === undefined) throw new Error('No network namespace could be made: is this root?');
  return { pid: holder.pid, close: () => void holder.stdin.end() };
}

/** @param {Namespace} namespace */
function enter({ pid }) {
  return ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
}

/** @param {Namespace} namespace @param {readonly string[]} commands */
function ip(namespace, commands) {
  const [program, ...args] = [...enter(namespace), 'ip', '-batch', '-'];
  execFileSync(program, args, { input: `${commands.join('\n')}\n` });
}

function freeSubnet() {
  const used = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []);
  for (let number = 0; number < 256; number++) {
    const subnet = `${CLIENTS}.${(process.pid + number) % 256}`;
    if (!used.some((address) => address.startsWith(`${subnet}.`))) return subnet;
  }
  throw new Error(`Every subnet of ${CLIENTS}.0.0/16 is used`);
}
