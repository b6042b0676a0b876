/* Tables for people, JSON for programs. */
#include "../src/core/status.h"
#include "../tuner/commands/output.h"
#include "check.h"

static const gt_column columns[] = {{"name", GT_LEFT}, {"n", GT_RIGHT}, {"speed", GT_RIGHT}};

static FILE *stream;
static char *printed;
static size_t printed_size;

static gt_table *begin(bool json)
{
    stream = open_memstream(&printed, &printed_size);
    return gt_table_create(stream, json, columns, 3);
}

/* Finishes the table and compares all that was printed. */
static void check_printed(gt_table *table, const char *expected)
{
    gt_table_finish(table);
    fclose(stream);
    char text[2000];
    snprintf(text, sizeof text, "%s", printed);
    free(printed);
    CHECK_STR(text, expected);
}

static void check_json(const char *text, const char *expected)
{
    char buffer[400] = "";
    FILE *out = fmemopen(buffer, sizeof buffer, "w");
    gt_json_text(out, text);
    fclose(out);
    CHECK_STR(buffer, expected);
}

static void check_json_number(double number, const char *expected)
{
    char buffer[400] = "";
    FILE *out = fmemopen(buffer, sizeof buffer, "w");
    gt_json_number(out, number);
    fclose(out);
    CHECK_STR(buffer, expected);
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
    gt_table *table = begin(false);
    gt_table_text(table, "simt");
    gt_table_integer(table, 12345);
    gt_table_number(table, "%.1f", 44.06);
    gt_table_text(table, "a longer name");
    gt_table_integer(table, -1);
    gt_table_none(table);
    check_printed(table, "name               n  speed\n"
                         "simt           12345   44.1\n"
                         "a longer name     -1      -\n");
}

TEST(width_counts_characters_not_bytes)
{
    gt_table *table = begin(false);
    gt_table_text(table, "M\u00fcller");
    gt_table_integer(table, 1);
    gt_table_none(table);
    check_printed(table, "name    n  speed\n"
                         "M\u00fcller  1      -\n");
}

TEST(groups_are_apart_by_a_blank_line)
{
    gt_table *table = begin(false);
    gt_table_rule(table); /* none before the first row */
    for (int i = 0; i < 2; i++) {
        gt_table_text(table, "x");
        gt_table_integer(table, i);
        gt_table_none(table);
        gt_table_rule(table);
    }
    check_printed(table, "name  n  speed\nx     0      -\n\nx     1      -\n");
}

TEST(control_characters_do_not_reach_the_terminal)
{
    gt_table *table = begin(false);
    gt_table_text(table, "\033[31m\n");
    gt_table_none(table);
    gt_table_none(table);
    check_printed(table, "name    n  speed\n [31m   -      -\n");
}

TEST(json_is_one_array_of_objects_with_full_digits)
{
    gt_table *table = begin(true);
    gt_table_text(table, "a \"b\"");
    gt_table_integer(table, 9007199254740993);
    gt_table_number(table, "%.1f", 0.1);
    gt_table_rule(table);
    gt_table_text(table, NULL);
    gt_table_none(table);
    gt_table_number(table, "%.1f", NAN);
    check_printed(table, "[\n {\"name\": \"a \\\"b\\\"\", \"n\": 9007199254740993, \"speed\": 0.1},\n"
                         " {\"name\": null, \"n\": null, \"speed\": null}\n]\n");
}

TEST(without_rows_json_is_an_empty_array_and_people_see_nothing)
{
    check_printed(begin(true), "[]\n");
    check_printed(begin(false), "");
}

TEST(a_cut_row_is_filled_with_nothing)
{
    gt_table *table = begin(true);
    gt_table_text(table, "x");
    check_printed(table, "[\n {\"name\": \"x\", \"n\": null, \"speed\": null}\n]\n");
}

TEST(json_text_is_escaped)
{
    check_json("plain", "\"plain\"");
    check_json("\"\\/", "\"\\\"\\\\/\"");
    check_json("a\nb\tc\x01\x7f", "\"a\\u000ab\\u0009c\\u0001\\u007f\"");
    check_json("\u00e9\u20ac\U0001F600", "\"\u00e9\u20ac\U0001F600\"");
    check_json(NULL, "null");
}

TEST(bytes_that_are_no_utf8_become_the_replacement_character)
{
    check_json("a\xff" "b", "\"a\\ufffdb\"");
    check_json("\xc3", "\"\\ufffd\"");                         /* cut off */
    check_json("\xc0\xaf", "\"\\ufffd\\ufffd\"");              /* overlong */
    check_json("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");   /* a surrogate */
    check_json("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* beyond U+10FFFF */
}

TEST(json_numbers_read_back_as_the_same_number)
{
    check_json_number(0.1, "0.1");
    check_json_number(1.0 / 3, "0.3333333333333333");
    check_json_number(1e300, "1e+300");
    check_json_number(-2, "-2");
    check_json_number(INFINITY, "null");
    check_json_number(NAN, "null");
}

TEST(a_table_that_could_not_be_made_is_accepted)
{
    gt_table_text(NULL, "x");
    gt_table_integer(NULL, 1);
    gt_table_number(NULL, "%f", 1);
    gt_table_none(NULL);
    gt_table_rule(NULL);
    gt_table_finish(NULL);
}

TEST(a_file_gets_no_colours)
{
    FILE *file = tmpfile();
    CHECK(file);
    CHECK(!gt_wants_colour(file));
    fclose(file);
}

CHECK_MAIN
