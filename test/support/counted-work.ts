/** Counts the work of code. Its time would depend on the machine and on other processes. */

export interface Work {
  /** Characters that string functions read, and accesses to elements, maps and sets. */
  readonly steps: number
  /** The distinct regular expressions that read more than 1000 characters. A step counts no backtracking. */
  readonly patterns: readonly string[]
}

type Cost = (self: unknown, args: readonly unknown[], result: unknown) => number

const one: Cost = () => 1
const allOfSelf: Cost = (self) => (self as string | unknown[]).length
const sizeOf = (value: unknown): number => (typeof value === 'string' ? value.length : 1)

const counted: readonly (readonly [owner: object, names: readonly string[], cost: Cost])[] = [
  [String.prototype, ['charCodeAt', 'codePointAt', 'charAt', 'at'], one],
  [String.prototype, ['indexOf', 'lastIndexOf', 'includes', 'split', 'replace', 'replaceAll'], allOfSelf],
  [String.prototype, ['startsWith', 'endsWith'], (_self, [searched]) => sizeOf(searched)],
  [String.prototype, ['slice', 'substring'], (_self, _args, result) => sizeOf(result)],
  [Array.prototype, ['includes', 'indexOf', 'lastIndexOf', 'find', 'findIndex', 'some', 'every'], allOfSelf],
  [Map.prototype, ['get', 'has', 'set', 'delete'], one],
  [Set.prototype, ['add', 'has', 'delete'], one],
  [JSON, ['parse'], (_self, [text]) => sizeOf(text)],
]

const manyCharacters = 1000

/** Counts the work of everything that this process does until `run` ends. */
export async function workOf(run: () => unknown): Promise<Work> {
  let steps = 0
  const patterns: string[] = []
  const restore: (() => void)[] = []
  const replace = (owner: object, name: string, onCall: Cost): void => {
    const method = Reflect.get(owner, name) as (...args: unknown[]) => unknown
    const descriptor = Object.getOwnPropertyDescriptor(owner, name)
    const { apply } = Reflect
    Object.defineProperty(owner, name, {
      ...descriptor,
      value(this: unknown, ...args: unknown[]) {
        const result = apply(method, this, args)
        steps += onCall(this, args, result)
        return result
      },
    })
    restore.push(() => Object.defineProperty(owner, name, { ...descriptor }))
  }
  for (const [owner, names, cost] of counted) for (const name of names) replace(owner, name, cost)
  replace(RegExp.prototype, 'exec', (self, [text]) => {
    const size = String(text).length
    if (size > manyCharacters) patterns.push((self as RegExp).source)
    return size
  })
  try {
    const running = run()
    // Without a promise, no other work of the process runs in between.
    if (running instanceof Promise) await running
  } finally {
    for (const undo of restore) undo()
  }
  return { steps, patterns: [...new Set(patterns)] }
}
