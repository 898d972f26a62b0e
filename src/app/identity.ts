/** What a service says about itself at `/meta` and in its documents. */
export interface Identity {
  /** A URN or address that names the kind of actor: `urn:actingweb:example.com:notes`. */
  readonly type: string
  readonly name: string
  /** The application's release. */
  readonly version: string
  readonly description: string
  /** Address of a page for people. */
  readonly info: string
  readonly specification: string
}
