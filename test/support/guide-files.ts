/** Files that a guide is made of: a code block of a file begins with a comment that names the file. */
const comment = /^(?:\/\/|#|<!--|\/\*) ([\w./-]+\.\w+)(?:, continued)?(?: -->| \*\/)?$/

/** By name, in the order of the guide; blocks of one file are joined. */
export function filesOf(guide: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const [, body = ''] of guide.matchAll(/^```\w+\n(.*?)^```$/gms)) {
    const [first = ''] = body.split('\n', 1)
    const name = comment.exec(first)?.[1]
    if (name !== undefined) files.set(name, `${files.get(name) ?? ''}${body.slice(first.length + 1)}\n`)
  }
  return files
}
