/** The state of a process that a test file must restore, because the next file in the process would find it. */
import childProcess from 'node:child_process'
import crypto from 'node:crypto'
import dns from 'node:dns'
import events from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import sqlite from 'node:sqlite'
import timers from 'node:timers'
import tls from 'node:tls'
import v8 from 'node:v8'

/** Values by the names that failures show. */
type State = ReadonlyMap<string, unknown>

const { promises } = fs
const { stdout, stderr } = process
/** Objects whose members a test may replace. `globalThis` has the classes of the language and of the web. */
const shared = {
  globalThis,
  process,
  stdout,
  stderr,
  console,
  Math,
  JSON,
  childProcess,
  crypto,
  dns,
  events,
  fs,
  http,
  https,
  net,
  promises,
  sqlite,
  timers,
  tls,
  v8,
}

/** Node.js and packages set these on their first use, and some with a warning. The package graceful-fs replaces the functions. */
const changing =
  /^globalThis\.(?:__|Symbol\(|localStorage|sessionStorage|navigator)|^process\.(?:exitCode|_|report|chdir$|cwd$)|^fs\.(?:close(?:Sync)?$|Symbol\()|^crypto\.pseudoRandomBytes/

const holders = new Map<string, object>()
for (const [name, holder] of Object.entries(shared)) {
  holders.set(name, holder)
  for (const [key, member] of membersOf(name, holder))
    if (typeof member === 'function' && /\.[A-Z]\w+$/.test(key)) {
      holders.set(key, member)
      if (typeof member.prototype === 'object' && member.prototype !== null)
        holders.set(`${key}.prototype`, member.prototype as object)
    }
}

function membersOf(name: string, holder: object): [key: string, member: unknown][] {
  return Reflect.ownKeys(holder).flatMap((key): [string, unknown][] => {
    const full = `${name}.${String(key)}`
    if (changing.test(full)) return []
    // Node.js replaces the getters of some members at their first use.
    if (holder === globalThis) Reflect.get(holder, key)
    const descriptor = Object.getOwnPropertyDescriptor(holder, key) ?? {}
    return [[full, Reflect.get(descriptor, 'get') ?? Reflect.get(descriptor, 'value')]]
  })
}

/** Returns the environment, the folder, the listeners of the process, and the members of shared objects. */
export function processState(): State {
  const state = new Map<string, unknown>([['process.cwd()', process.cwd()]])
  for (const [name, value] of Object.entries(process.env)) state.set(`process.env.${name}`, value)
  for (const name of process.eventNames()) {
    // Modules that several files share clean up at the end of the process. The run fails for a process that ends with an error.
    if (name === 'exit') continue
    const count = process.listenerCount(name)
    if (count > 0) state.set(`process.on('${String(name)}')`, count)
  }
  for (const [name, holder] of holders) for (const [key, member] of membersOf(name, holder)) state.set(key, member)
  return state
}

/** Returns the names of what differs. */
export function changedState(before: State, after: State): string[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((name) => !Object.is(before.get(name), after.get(name)))
}
