/** The description of a service at `/meta` and in its documents. */
export interface Identity {
  /** A URN or URL that names the kind of actor: `urn:actingweb:example.com:notes`. */
  readonly type: string
  readonly name: string
  /** The application's release. */
  readonly version: string
  readonly description: string
  /** URL of a page for people. */
  readonly info: string
  readonly specification: string
}
