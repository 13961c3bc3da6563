// The answer that a person is putting together at the table. Every question is a list of rows; a card that is pointed at is the row
// that it stands for. What is legal is the server's business: a wrong answer comes back with its reason.

export class Form {
  constructor(question) {
    const form = question.form;
    this.number = question.number;
    this.sentence = question.sentence;
    this.kind = form.form;
    this.card = this.target = this.held = null;
    const row = (one) => ({ id: one.id, label: one.label, cards: one.cards || [one.id], targets: one.targets || [], partners: [] });
    if (this.kind === "attackers" || this.kind === "blockers") {
      this.names = this.kind === "attackers" ? form.defenders : form.attackers;
      const own = this.kind === "attackers" ? form.attackers : form.blockers;
      this.rows = own.map((one) => ({ ...row(one), cards: [one.id], partners: one.can_block || this.names.map((name) => name.id) }));
      // A creature that can block several attackers has a row for each block: the n-th row has its n-th required partner.
      this.pairs = this.rows.map((one, at) => {
        const earlier = this.rows.slice(0, at).filter((other) => other.id === one.id).length;
        return form.required.filter(([id]) => id === one.id)[earlier]?.[1] || null;
      });
    } else {
      this.rows = form.options.map((one) => ({ ...row(one), cards: one.cards || [] }));
    }
    if (this.kind === "options") Object.assign(this, { min: form.min, max: form.max, ordered: form.ordered, chosen: [] });
    if (this.kind === "amounts") {
      this.total = form.total;
      this.minimums = form.minimums;
      this.amounts = [...form.proposal];
    }
  }

  /** Whether one row is the whole answer. */
  get single() {
    return this.kind === "action" || (this.kind === "options" && this.min === 1 && this.max === 1);
  }

  sum() {
    return this.amounts.reduce((sum, one) => sum + one, 0);
  }

  /** Positions of the rows that are shown: those of the card and the target that were pointed at. */
  shown() {
    return this.rows.map((_, at) => at).filter((at) => (!this.card || this.rows[at].cards.includes(this.card)) && (!this.target || this.rows[at].targets.includes(this.target)));
  }

  isChosen(at) {
    if (this.pairs) return Boolean(this.pairs[at]);
    return Boolean(this.chosen?.includes(at));
  }

  label(at) {
    const { label } = this.rows[at];
    if (this.pairs?.[at]) return `${label} ${this.kind === "attackers" ? "attacks" : "blocks"} ${this.names.find((one) => one.id === this.pairs[at])?.label}`;
    if (this.ordered && this.chosen.includes(at)) return `${this.chosen.indexOf(at) + 1}. ${label}`;
    return label;
  }

  /** Text of the button that answers, where a row alone does not. */
  button() {
    if (this.single) return null;
    if (this.pairs) {
      const count = this.pairs.filter(Boolean).length, attack = this.kind === "attackers";
      return count ? `${attack ? "Attack" : "Block"} with ${count}` : attack ? "No attack" : "No block";
    }
    if (this.kind === "amounts") return `Assign (${this.sum()} of ${this.total})`;
    if (!this.chosen.length && this.min === 0) return `None (up to ${this.max})`;
    return this.ordered ? `This order (${this.chosen.length} of ${this.max})` : `Done (${this.chosen.length} of ${this.min === this.max ? this.max : `${this.min} to ${this.max}`})`;
  }

  /** Ids on the board that can be pointed at. */
  candidates() {
    const ids = this.shown().flatMap((at) => (this.card && this.rows[at].targets.length ? this.rows[at].targets : this.rows[at].cards));
    if (this.held !== null) ids.push(...this.rows[this.held].partners);
    return new Set(ids);
  }

  /** Ids that are chosen, with the word that says as what. */
  marks() {
    const marks = new Map();
    this.rows.forEach((row, at) => {
      const word = this.pairs?.[at] ? (this.kind === "attackers" ? "attacks" : "blocks") : this.held === at ? "blocks what?" : this.chosen?.includes(at) ? "chosen" : null;
      if (word) for (const card of row.cards) marks.set(card, word);
    });
    return marks;
  }

  /** Chooses a row: the answer, or null when the form only changed. */
  choose(at) {
    if (this.single) return this.kind === "action" ? { action: this.rows[at].id } : { options: [this.rows[at].id] };
    if (this.pairs) {
      const round = [null, ...this.rows[at].partners];
      this.pairs[at] = round[(round.indexOf(this.pairs[at]) + 1) % round.length];
      this.held = null;
    } else if (this.kind === "amounts") this.change(at, 1);
    else if (this.chosen.includes(at)) this.chosen = this.chosen.filter((one) => one !== at);
    else this.chosen = [...this.chosen, at].slice(-this.max);
    return null;
  }

  change(at, by) {
    const least = this.minimums[at] || 0;
    const most = Math.max(least, this.total - (this.sum() - this.amounts[at]));
    this.amounts[at] = Math.min(most, Math.max(least, this.amounts[at] + by));
  }

  /** Points at a card or a player: an answer, null when the form changed, false when it has nothing to do with the question. */
  point(id) {
    if (this.pairs) return this.pointPair(id);
    const shown = this.shown();
    if (this.card && this.card !== id) {
      const found = shown.filter((at) => this.rows[at].targets.includes(id));
      if (found.length === 1) return this.choose(found[0]);
      if (found.length) { this.target = id; return null; }
    }
    const found = this.rows.map((_, at) => at).filter((at) => this.rows[at].cards.includes(id));
    if (!found.length) return false;
    this.target = null;
    if (found.length === 1) { this.card = null; return this.choose(found[0]); }
    this.card = id;
    return null;
  }

  pointPair(id) {
    const all = this.rows.map((_, at) => at).filter((at) => this.rows[at].cards.includes(id));
    const own = all.find((at) => !this.pairs[at]) ?? all.at(-1) ?? -1;
    if (own >= 0) {
      const only = this.rows[own].partners.length === 1;
      if (this.pairs[own]) { this.pairs[own] = null; this.held = null; }
      else if (only) { [this.pairs[own]] = this.rows[own].partners; this.held = null; }
      else this.held = this.held === own ? null : own;
      return null;
    }
    if (this.held === null || !this.rows[this.held].partners.includes(id)) return false;
    this.pairs[this.held] = id;
    this.held = null;
    return null;
  }

  /** Shows all rows again. */
  widen() {
    const was = this.card || this.target || this.held !== null;
    this.card = this.target = this.held = null;
    return Boolean(was);
  }

  /** The answer as it stands. */
  answer() {
    if (this.pairs) return { [this.kind]: this.rows.map((row, at) => [row.id, this.pairs[at]]).filter(([, to]) => to) };
    if (this.kind === "amounts") return { amounts: this.amounts };
    return { options: this.chosen.map((at) => this.rows[at].id) };
  }

  get canPass() {
    return this.kind === "action";
  }
}
