/**
 * Invalid settings that prevent the start. The message is one sentence for the operator, or one line for each problem, and
 * contains no secret.
 *
 * @public
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /**
   * One sentence for each problem.
   *
   * @internal
   */
  readonly problems: readonly string[]

  constructor(problem: string | readonly string[], options?: ErrorOptions) {
    const problems = typeof problem === 'string' ? [problem] : problem
    const [first = ''] = problems
    super(
      problems.length <= 1
        ? first
        : `The settings have ${problems.length} problems:\n${problems.map((each) => `- ${each}`).join('\n')}`,
      options,
    )
    this.problems = problems
  }
}

/** The problems of the settings, so that a start names all of them at once. */
export class Problems {
  readonly #found = new Set<string>()

  add(problem: string): void {
    this.#found.add(problem)
  }

  /** Returns the result of a check; `otherwise` after a ConfigError, which is collected. */
  collect<T, Otherwise = T>(check: () => T, otherwise: Otherwise): T | Otherwise {
    try {
      return check()
    } catch (error) {
      this.#addFrom(error)
      return otherwise
    }
  }

  /** Like `collect`, for a check that waits for something. */
  async collectLater<T, Otherwise = T>(check: () => Promise<T>, otherwise: Otherwise): Promise<T | Otherwise> {
    try {
      return await check()
    } catch (error) {
      this.#addFrom(error)
      return otherwise
    }
  }

  get any(): boolean {
    return this.#found.size > 0
  }

  get all(): readonly string[] {
    return [...this.#found]
  }

  /** @throws ConfigError with all collected problems. */
  requireNone(): void {
    if (this.any) throw new ConfigError(this.all)
  }

  #addFrom(error: unknown): void {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems) this.add(problem)
  }
}

/** The message of an error, as a part of a sentence. */
export function problemIn(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
}
