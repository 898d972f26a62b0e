/** The noun for an actor in German, with the words before it that follow its gender and case. @experimental */
export interface GermanNoun {
  readonly gender: 'masculine' | 'feminine' | 'neuter'
  /** `Konto`. */
  readonly one: string
  /** `Kontos`. */
  readonly genitive: string
  /** Default: `one`. */
  readonly accusative?: string
  /** Default: `one`. */
  readonly dative?: string
  /** `Konten`. */
  readonly many: string
}

export type Case = 'nominative' | 'accusative' | 'dative' | 'genitive'

type Endings = Readonly<Record<Case, string>>

const all: Readonly<Record<'ein' | 'dies' | 'adjective', Readonly<Record<GermanNoun['gender'], Endings>>>> = {
  ein: {
    masculine: { nominative: '', accusative: 'en', dative: 'em', genitive: 'es' },
    feminine: { nominative: 'e', accusative: 'e', dative: 'er', genitive: 'er' },
    neuter: { nominative: '', accusative: '', dative: 'em', genitive: 'es' },
  },
  dies: {
    masculine: { nominative: 'er', accusative: 'en', dative: 'em', genitive: 'es' },
    feminine: { nominative: 'e', accusative: 'e', dative: 'er', genitive: 'er' },
    neuter: { nominative: 'es', accusative: 'es', dative: 'em', genitive: 'es' },
  },
  // After `ein`, such as `ein neues Konto`.
  adjective: {
    masculine: { nominative: 'er', accusative: 'en', dative: 'en', genitive: 'en' },
    feminine: { nominative: 'e', accusative: 'e', dative: 'en', genitive: 'en' },
    neuter: { nominative: 'es', accusative: 'es', dative: 'en', genitive: 'en' },
  },
}

const articles: Readonly<Record<GermanNoun['gender'], Endings>> = {
  masculine: { nominative: 'der', accusative: 'den', dative: 'dem', genitive: 'des' },
  feminine: { nominative: 'die', accusative: 'die', dative: 'der', genitive: 'der' },
  neuter: { nominative: 'das', accusative: 'das', dative: 'dem', genitive: 'des' },
}

const pronouns: Readonly<Record<GermanNoun['gender'], Endings>> = {
  masculine: { nominative: 'er', accusative: 'ihn', dative: 'ihm', genitive: 'seiner' },
  feminine: { nominative: 'sie', accusative: 'sie', dative: 'ihr', genitive: 'ihrer' },
  neuter: { nominative: 'es', accusative: 'es', dative: 'ihm', genitive: 'seiner' },
}

/** The noun with words before it, in any case. */
export class Declined {
  readonly #noun: GermanNoun

  constructor(noun: GermanNoun) {
    this.#noun = noun
  }

  get one(): string {
    return this.#noun.one
  }

  get many(): string {
    return this.#noun.many
  }

  /** `das Konto`. */
  the(inCase: Case): string {
    return `${articles[this.#noun.gender][inCase]} ${this.#form(inCase)}`
  }

  /** `Ihr Konto`, or with an adjective `ein neues Konto`. @param stem `Ihr`, `ein`, `kein`. @param adjective `neu`. */
  ein(stem: string, inCase: Case, adjective?: string): string {
    const { gender } = this.#noun
    const middle = adjective === undefined ? '' : ` ${adjective}${all.adjective[gender][inCase]}`
    return `${stem}${all.ein[gender][inCase]}${middle} ${this.#form(inCase)}`
  }

  /** `dieses Konto`. @param stem `dies`, `jed`. */
  dies(stem: string, inCase: Case): string {
    return `${stem}${all.dies[this.#noun.gender][inCase]} ${this.#form(inCase)}`
  }

  /** `es`. */
  pronoun(inCase: Case): string {
    return pronouns[this.#noun.gender][inCase]
  }

  #form(inCase: Case): string {
    const { one, genitive, accusative = one, dative = one } = this.#noun
    return { nominative: one, accusative, dative, genitive }[inCase]
  }
}
